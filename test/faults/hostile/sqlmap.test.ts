/** Attacks the service with Debian's `sqlmap`, if it is installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { publicDir, sampleDocuments, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'
import { makePartner } from '../../support/partners.ts'
import { isRunnable } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { evmWallet, partnerHeaders } from '../../support/wallets.ts'

allowSlowTests('starts sqlmap')

/** The test clock does not move, so one signed read stays valid for the whole attack. */
const partner = evmWallet('partner')
const feed = '/api/v1/alerts/feed'
let published: PublicDir
let service: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  service = await startService(published.dir)
  await makePartner(service, partner, { handle: 'partner', tier: 'pro' })
})

afterAll(async () => {
  await service.stop()
  await published.remove()
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
    const child = spawn(
      'sqlmap',
      [
        ...options,
        '--technique',
        'BEUS',
        '--threads',
        '4',
        '--ignore-code',
        '400,401,404',
        '--level',
        '3',
        '--risk',
        '2',
        '--output-dir',
        folder,
        ...headers,
        ...how,
        '-u',
        `${service.url}${path}`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
    await once(child, 'close')
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
