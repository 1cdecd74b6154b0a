/** Attacks the service with Debian's `sqlmap`, if it is installed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeAll, describe, expect, test } from 'vitest'

import { makePartner } from '../../support/partners.ts'
import { runCommand } from '../../support/program.ts'
import { isRunnable } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { evmWallet, partnerHeaders } from '../../support/wallets.ts'

allowSlowTests('starts sqlmap')

/** The test clock does not move, so one signed read stays valid for the whole attack. */
const partner = evmWallet('partner')
const feed = '/api/v1/alerts/feed'
const service = useService({ per: 'file' })

beforeAll(async () => {
  await makePartner(service, partner, { handle: 'partner', tier: 'pro' })
})

describe.skipIf(!isRunnable('sqlmap'))('sqlmap', () => {
  test.each([
    ['the queries of a list', '/api/v1/jobs?skill=writing&limit=5', []],
    ['a name in a path', '/api/v1/partners/poster*', []],
    ['the queries of a signed read', `${feed}?rail=x402&severity=info`, []],
    ['a body', '/api/v1/claim', ['--data', '{"email":"a@b.example*","code":"000000*"}']],
  ])('finds nothing to inject into %s', async (_name, path, how) => {
    const before = service.lines().length
    const folder = mkdtempSync(join(tmpdir(), 'ledger-sqlmap-'))
    const options = ['--batch', '--flush-session', '--disable-coloring', '--dbms', 'sqlite']
    const signed = path.startsWith(feed)
      ? await partnerHeaders(partner, { method: 'GET', path: feed }, { nowMs: service.clock.now() })
      : {}
    const fields = Object.entries({ 'Content-Type': 'application/json', ...signed })
    const headers = ['--headers', fields.map(([name, value]) => `${name}: ${value}`).join('\n')]
    const effort = ['--technique', 'BEUS', '--threads', '4', '--level', '3', '--risk', '2']
    const places = ['--output-dir', folder, '-u', `${service.url}${path}`]
    const refusals = ['--ignore-code', '400,401,404']
    const attack = runCommand(
      'sqlmap',
      [...options, ...effort, ...refusals, ...headers, ...how, ...places],
      { HOME: folder },
    )
    await attack.ended
    const output = attack.output()
    rmSync(folder, { recursive: true, force: true })
    expect(output).toMatch(/do(?:es)? not (?:appear|seem) to be injectable/)
    expect(service.lines().length - before).toBeGreaterThan(100)
    // No signed read was refused for its signature.
    const reads = service.lines().filter((line) => line['path'] === feed)
    const statuses = new Set(reads.map(({ status }) => status))
    if (path.startsWith(feed)) expect(statuses).toEqual(new Set([200, 400]))
    expect(output).not.toMatch(/is vulnerable|identified the following injection/)
    expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
  })
})
