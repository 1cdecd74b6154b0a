/** Attacks the service with Debian's `sqlmap` and `slowhttptest`, if they are installed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

import { beforeAll, describe, expect, test } from 'vitest'

import { jsonDocument, sampleDocuments } from '../../support/http-service.ts'
import { makePartner } from '../../support/partners.ts'
import { runCommand } from '../../support/program.ts'
import { isRunnable } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { evmWallet, partnerHeaders } from '../../support/wallets.ts'

allowSlowTests('starts sqlmap and slowhttptest')

/** The test clock does not move, so one signed read stays valid for the whole attack. */
const partner = evmWallet('partner')
const feed = '/api/v1/alerts/feed'
const large = jsonDocument('/api/v1/rails/large', { text: 'ledger '.repeat(2 ** 20) })
const service = useService({ documents: [...sampleDocuments, large], per: 'file' })

beforeAll(async () => {
  await makePartner(service, partner, { handle: 'partner', tier: 'pro' })
})

/** Runs a program to its end in a new folder and returns its output. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `ledger-${program}-`))
  const attack = runCommand(program, args, { HOME: folder }, folder)
  await attack.ended
  rmSync(folder, { recursive: true, force: true })
  return stripVTControlCharacters(attack.output())
}

describe.skipIf(!isRunnable('sqlmap'))('sqlmap', () => {
  test.each([
    ['the queries of a list', '/api/v1/jobs?skill=writing&limit=5', []],
    ['a name in a path', '/api/v1/partners/poster*', []],
    ['the queries of a signed read', `${feed}?rail=x402&severity=info`, []],
    ['a body', '/api/v1/claim', ['--data', '{"email":"a@b.example*","code":"000000*"}']],
  ])('sqlmap finds nothing to inject into %s', async (_name, path, how) => {
    const before = service.lines().length
    const options = ['--batch', '--flush-session', '--disable-coloring', '--dbms', 'sqlite']
    const signed = path.startsWith(feed)
      ? await partnerHeaders(partner, { method: 'GET', path: feed }, { nowMs: service.clock.now() })
      : {}
    const fields = Object.entries({ 'Content-Type': 'application/json', ...signed })
    const headers = ['--headers', fields.map(([name, value]) => `${name}: ${value}`).join('\n')]
    const effort = ['--technique', 'BEUS', '--threads', '4', '--level', '3', '--risk', '2']
    const places = ['--output-dir', '.', '-u', `${service.url}${path}`]
    const refusals = ['--ignore-code', '400,401,404']
    const args = [...options, ...effort, ...refusals, ...headers, ...how, ...places]
    const output = await outputOf('sqlmap', args)
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

describe.skipIf(!isRunnable('slowhttptest'))('slowhttptest', () => {
  test.each([
    ['headers', ['-H', '-x', '24', '-t', 'GET'], '/api/v1/health'],
    ['bodies', ['-B', '-s', '8192', '-t', 'POST', '-x', '10'], '/api/v1/feedback'],
    ['reads', ['-X', '-w', '10', '-y', '20', '-n', '5', '-z', '32'], '/api/v1/rails/large'],
  ])('slowhttptest finds the service available during slow %s', async (_name, how, path) => {
    const bounds = ['-c', '150', '-r', '150', '-i', '2', '-p', '10', '-l', '6']
    const address = ['-u', `${service.url}${path}`]
    const output = await outputOf('slowhttptest', [...bounds, ...how, ...address])
    const verdicts = [...output.matchAll(/service available:\s+(\w+)/g)]
    expect(new Set(verdicts.map(([, verdict]) => verdict))).toEqual(new Set(['YES']))
    for (const other of ['/api/v1/rails', '/api/v1/health', '/api/v1/jobs']) {
      expect((await service.getJson(other)).status).toBe(200)
    }
  })
})
