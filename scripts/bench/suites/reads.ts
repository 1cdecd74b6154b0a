/** Reads: documents, also behind nginx, a picture for partners, filtered lists, and paid reads. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { pathOf } from '../../../src/contract/routes.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { nginxUser, startNginx, startNginxWith } from '../../../test/support/edge.ts'
import { requestText } from '../../../test/support/keep-alive.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { insertTestPartner } from '../../../test/support/partners.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import { evmWallet, partnerHeaders } from '../../../test/support/wallets.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../../../test/support/x402-payment.ts'
import type { Bench, Suite } from '../bench.ts'
import { buildOnce, databaseIn, load, repeat, startPeer, startService } from '../processes.ts'

const readyPath = '/api/v1/rails'
const identity = { 'Accept-Encoding': 'identity' }
const reads = [
  { what: 'document of 2 KB', path: '/api/v1/rails/x402' },
  { what: 'document of 30 KB', path: '/docs/rules' },
  { what: 'document of 300 KB', path: '/docs/models' },
]
export const documents: Suite = async ({ dir, many, running }) => {
  buildOnce(dir)
  const database = await openDatabase({ url: databaseIn(dir) })
  const partner = evmWallet('bench partner')
  const wallet = parseWallet(partner.address)
  await database.write((tx) => insertTestPartner(tx, { handle: 'bench', wallet }, Date.now()))
  await database.close()
  const service = await running(startService(dir, { readyPath }))
  const known = await fetch(service.origin + readyPath, { headers: identity })
  const ifKnown = { ...identity, 'If-None-Match': known.headers.get('etag') ?? '' }
  const path = '/api/v1/og?page=/rails/x402&format=png'
  const headers = await partnerHeaders(partner, { method: 'GET', path }, { nowMs: Date.now() })
  const lookUp = { DATABASE: databaseIn(dir), WALLET: wallet.id }
  const all = [
    // First, since its signature is valid for five minutes.
    {
      what: 'picture for a partner, drawn before',
      path,
      headers,
      count: 10_000,
      env: lookUp,
      most: 1.5,
    },
    ...reads.map((read) => ({ ...read, headers: identity, count: 80_000, env: {}, most: 1.05 })),
    { what: '304', path: readyPath, headers: ifKnown, count: 80_000, env: {}, most: 1.1 },
  ]
  const benches: Bench[] = []
  for (const { what, count, env, most, ...request } of all) {
    const args = [service.origin + request.path, JSON.stringify(request.headers)]
    const peer = await running(startPeer('raw-http', { args, env }))
    benches.push({
      what,
      ours: () => repeat(service, request, many(count)),
      peer: ['node:http', () => repeat(peer, request, many(count))],
      targets: { cpuUs: ['mostRatio', most] },
    })
  }
  return benches
}

/** One process, whose CPU time can be read. */
const processes = 'worker_processes 1; master_process off;'

export const edge: Suite = async ({ dir, many, running }) => {
  buildOnce(dir)
  const env = { TRUSTED_PROXIES: '127.0.0.1' }
  const service = await running(startService(dir, { readyPath, env }))
  const servicePort = service.address.port
  const changes = [['worker_processes auto;', processes]] as const
  const publicDir = join(dir, 'public')
  const shipped = await running(startNginx({ servicePort, publicDir, changes }))
  const plain = await running(startNginxWith(cacheOf(servicePort)))
  return reads.map(({ what, path }) => {
    const request = { path, headers: { 'Accept-Encoding': 'br' } }
    return {
      what: `${what}, nginx`,
      ours: () => repeat(shipped, request, many(80_000)),
      peer: ['cache of nginx alone', () => repeat(plain, request, many(80_000))],
      targets: { cpuUs: ['mostRatio', 1.03] },
    }
  })
}

/** It closes connections as late as the shipped configuration does. */
const cacheOf = (servicePort: number) => (dir: string, port: number) =>
  `
${nginxUser} ${processes} pid ${dir}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 10000;
  client_body_temp_path ${dir}/state/body; proxy_temp_path ${dir}/state/proxy;
  proxy_cache_path ${dir}/state/cache keys_zone=cache:20m use_temp_path=off; proxy_cache cache;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://127.0.0.1:${servicePort}; }
  }
}
`

export const lists: Suite = async ({ dir, many, receipts, running }) => {
  await fillLedger(databaseIn(dir), receipts)
  const service = await running(startService(dir))
  const peer = await running(startPeer('raw-http', { env: { DATABASE: databaseIn(dir) } }))
  return ['verified', 'unverified'].map((status) => {
    const path = `${pathOf('listReceipts')}?limit=50&chain=base&status=${status}`
    return {
      what: `list of ${status} receipts on Base`,
      ours: () => repeat(service, { path }, many(6000), 1),
      peer: ['its rows without a total', () => repeat(peer, { path }, many(6000), 1)],
      targets: { cpuUs: ['mostRatio', 3], p99Ms: ['most', 25] },
    }
  })
}

export const payments: Suite = async ({ dir, many, running }) => {
  const [payer, to] = [chainAccount('payer'), chainAccount('receiver').address]
  const chain = await running(startUsdcChain())
  await chain.mint(payer.address, 1_000_000_000_000n)
  for (const name of ['settler', 'facilitator']) await chain.fund(chainAccount(name).address)
  const SETTLER_KEY_FILE = join(dir, 'settler.key')
  writeFileSync(SETTLER_KEY_FILE, chainKey('settler'), { mode: 0o600 })
  const settlement = { SETTLEMENT: 'local', PAYMENT_RECEIVER: to, SETTLER_KEY_FILE }
  const env = { ...settlement, RPC_URL_BASE: chain.url }
  const path = pathOf('getAlertFeed')
  const service = await running(startService(dir, { env }))
  const peer = await running(startPeer('x402-hono', { args: [chain.url, to, path] }))
  const buy = async (server: ServerProcess) => {
    const requests = Array.from({ length: many(1200) }, async () => {
      const signed = await signAuthorization(payer, { to, value: 2000n })
      const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) }
      return requestText({ path, headers })
    })
    return await load([server], await Promise.all(requests))
  }
  return {
    what: 'paid read',
    ours: () => buy(service),
    peer: ['@x402/hono', () => buy(peer)],
    targets: { perSecond: ['leastRatio', 5] },
  }
}
