/** Prism as a proxy in front of the service, which compares each request and answer with `/openapi.json`. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'

import { diffDocument, factsOf, nextFacts } from '../../builder/archive/last-facts.ts'
import { parseSecretKey, receiptKeyOf } from '../../src/client/signers.ts'
import { bodyExample } from '../../src/contract/openapi/examples.ts'
import type { Route } from '../../src/contract/route.ts'
import { maxAgeOf, routes } from '../../src/contract/routes.ts'
import { leaderboard } from '../../src/contract/schemas/worker.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { callEveryOperation, jsonRoutes } from '../support/every-operation.ts'
import { makePartner } from '../support/partners.ts'
import { freePort } from '../support/server-process.ts'
import { healthOf } from '../support/service-health.ts'
import { documentsOf } from '../support/site.ts'
import { storeStatement } from '../support/statements.ts'
import { useService } from '../support/use-service.ts'
import type { UsedService } from '../support/use-service.ts'
import { evmWallet, testService } from '../support/wallets.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

/** Needs Node 24. */
const prism = '@stoplight/prism-cli@5.16.0'
const facts = [...documentsOf(smallWorld())]
const service: UsedService = useService({
  documents: [...facts, diffDocument(nextFacts(null, factsOf(facts)), maxAgeOf('getLatestDiff'))],
  publishedAtMs: worldNowMs,
  per: 'file',
  options: () => ({ health: () => healthOf(service) }),
})
const folder = mkdtempSync(join(tmpdir(), 'ledger-prism-'))
let proxy: string

beforeAll(async () => {
  const openapi = await fetch(`${service.url}/openapi.json`)
  const file = join(folder, 'openapi.json')
  writeFileSync(file, await openapi.text())
  const port = String(await freePort())
  const program = ['-y', '--loglevel=error', '-p', 'node@24', '-p', prism, 'prism']
  // Without `--errors`, so that the service too refuses what the description does not allow.
  const args = ['proxy', file, service.url, '--port', port, '--verboseLevel', 'warn']
  const child = spawn('npx', [...program, ...args], {
    cwd: folder,
    detached: true,
    stdio: 'ignore',
  })
  proxy = `http://127.0.0.1:${port}`
  await vi.waitFor(() => fetch(`${proxy}/api/v1/health`), { timeout: 200_000, interval: 500 })
  return () => {
    if (child.pid !== undefined) process.kill(-child.pid)
    rmSync(folder, { recursive: true, force: true })
  }
}, 250_000)

const violation = z.object({ location: z.array(z.string()), message: z.string() })

/** What differs from the description. A refused request may differ, but never its answer. */
function differences(status: number, headers: Headers): readonly string[] {
  const found = z.array(violation).parse(JSON.parse(headers.get('sl-violations') ?? '[]'))
  return found
    .filter(({ location: [where] }) => where !== 'request' || status < 400)
    .map(({ location, message }) => `${location.join('.')}: ${message}`)
}

/** The statement of the first worker of the leaderboard. */
async function stateIncome(): Promise<void> {
  const answer = await fetch(`${service.url}/api/v1/leaderboard`)
  const [earner] = leaderboard.parse(await answer.json()).leaderboard
  await storeStatement(service, earner?.wallet ?? '')
}

test('Prism finds no difference in a call of every operation that answers JSON', async () => {
  const [poster, bidder] = [evmWallet('poster'), evmWallet('bidder')]
  await makePartner(service, poster, { handle: 'northwind', tier: 'pro' })
  await makePartner(service, bidder, { handle: 'marginalia' })
  await stateIncome()
  const signerOf = ({ address, sign }: typeof poster) =>
    ({ kind: 'evm', wallet: address, signMessage: sign }) as const
  const clock = {
    now: () => {
      // Each signature has its own time.
      service.clock.advance(1)
      return service.clock.now()
    },
  }
  const { oaths } = service.actions.reference()
  const calls = await callEveryOperation(
    { siteUrl: proxy, serviceName: testService, clock, random: systemRandom },
    {
      poster: signerOf(poster),
      bidder: signerOf(bidder),
      newcomer: signerOf(evmWallet('newcomer')),
      heir: signerOf(evmWallet('heir')),
      receiptKey: receiptKeyOf(parseSecretKey(`seed:${'ab'.repeat(32)}`)),
      raiseTier: () => Promise.resolve(),
      known: { rail: 'x402', skill: 'translation', oaths: [...oaths.values()] },
    },
  )
  const found = calls.flatMap(({ id, status, headers }) =>
    differences(status, headers).map((difference) => [id, status, difference]),
  )
  expect(found).toEqual([])
  const good = new Set(calls.filter(({ status }) => status < 300).map(({ id }) => id))
  const others = jsonRoutes.map(({ id }) => id).filter((id) => !good.has(id))
  // No poll has left evidence, and nothing has tried to deliver the challenge.
  expect(others).toEqual(['getEvidence', 'enableAlerts'])
})

test('Prism finds no difference in refusals, nor in answers that are not JSON', async () => {
  const examplePath = ({ path, params = {} }: Route) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name]?.example ?? 'nothing')
  const statuses = new Set<number>()
  const found: string[] = []
  const send = async (method: string, path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${proxy}${path}`, { method, ...init })
    await answer.arrayBuffer()
    statuses.add(answer.status)
    const different = differences(answer.status, answer.headers)
    found.push(...different.map((text) => `${method} ${path} ${answer.status} ${text}`))
  }
  const type = { 'Content-Type': 'application/json' }
  for (const route of routes) {
    const { method, query = {} } = route
    const path = examplePath(route)
    if (method === 'GET') {
      await send(method, path)
      await send(method, path, { headers: { Accept: 'text/html' } })
      for (const name of [...Object.keys(query), 'unknown'])
        await send(method, `${path}?${name}=%20`)
      if (route.params !== undefined) await send(method, route.path.replaceAll(/\{\w+\}/g, 'No'))
    } else {
      await send(method, path, route.body === undefined ? {} : { headers: type, body: '{}' })
      const forged = { ...type, Authorization: `Bearer 0x${'12'.repeat(20)}:0x${'34'.repeat(65)}` }
      const body = JSON.stringify(bodyExample(route.id) ?? {})
      await send(
        method,
        path,
        route.body === undefined ? { headers: forged } : { headers: forged, body },
      )
      if (route.body === undefined) continue
      await send(method, path, { headers: { 'Content-Type': 'text/plain' }, body: 'text' })
      await send(method, path, {
        headers: type,
        body: JSON.stringify({ text: 'a'.repeat(70_000) }),
      })
    }
  }
  for (const status of [200, 400, 401, 402, 404, 413, 415]) expect(statuses).toContain(status)
  expect(found).toEqual([])
})
