/** The check of @agentcash/discovery, by which x402scan decides whether it lists a paid resource. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { createEvmNode } from '../../src/chain/node.ts'
import { loadPayments } from '../../src/payments/load.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { testCertificate } from '../support/certificate.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const discovery = '@agentcash/discovery@1.7.5'
const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
  options: async () => {
    const node = createEvmNode('base', () => Promise.reject(new Error('no node')))
    const deps = { clock: systemClock, random: systemRandom, fetch, node, holder: 'test' }
    const facilitatorUrl = 'http://127.0.0.1:9'
    const settings = { mode: 'facilitator', receiver, facilitatorUrl, cdpKey: null } as const
    return { actions: { payments: await loadPayments(settings, deps) } }
  },
})
const answered: string[] = []
const certificate = testCertificate(['localhost'])
const tls = createServer(certificate, (incoming, response) => {
  const { method, headers, url = '' } = incoming
  const forwarded = request(`${service.url}${url}`, { method, headers }, (answer) => {
    if (method === 'GET') answered.push(`${answer.statusCode} ${url}`)
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  incoming.pipe(forwarded)
})
const folder = mkdtempSync(join(tmpdir(), 'ledger-discovery-'))
const ca = join(folder, 'ca.pem')
let origin = ''

beforeAll(async () => {
  writeFileSync(ca, certificate.cert)
  await once(tls.listen(0, 'localhost'), 'listening')
  origin = `https://localhost:${z.object({ port: z.number() }).parse(tls.address()).port}`
})
afterAll(() => {
  tls.close()
  rmSync(folder, { recursive: true, force: true })
})

const found = z.object({
  found: z.literal(true),
  advisories: z.array(z.looseObject({ method: z.string(), authMode: z.string() })),
  warnings: z.array(z.unknown()),
})

async function check(path: string) {
  const command = ['-y', '--loglevel=error', '-p', discovery, 'discovery', 'check', '--json']
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: ca }
  const { stdout } = await promisify(execFile)('npx', [...command, `${origin}${path}`], {
    cwd: folder,
    env,
  })
  return found.parse(JSON.parse(stdout))
}

test.each([
  '/api/v1/arbitrage',
  '/api/v1/reputation/{wallet}',
  '/api/v1/reputation/0x52908400098527886E0F7030069857D2E4169EE7',
  '/api/v1/alerts/feed',
  '/api/v1/og',
])('the discovery check of x402scan finds the paid read %s without a warning', async (path) => {
  const { advisories, warnings } = await check(path)
  expect(answered).toContain(`402 ${encodeURI(path)}`)
  expect(warnings).toEqual([])
  expect(advisories).toMatchObject([
    { method: 'GET', authMode: expect.stringMatching(/paid$/) as unknown, protocols: ['x402'] },
  ])
})
