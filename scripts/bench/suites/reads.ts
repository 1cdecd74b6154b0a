/** Reads: documents, also behind nginx, a picture for partners, and paid reads. */
import { join } from 'node:path'

import { pathOf } from '../../../src/contract/routes.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { startNginx } from '../../../test/support/edge.ts'
import { requestText } from '../../../test/support/keep-alive.ts'
import { insertTestPartner } from '../../../test/support/partners.ts'
import { buildOnce, startLedger } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import { evmWallet, partnerHeaders } from '../../../test/support/wallets.ts'
import * as x402 from '../../../test/support/x402-payment.ts'
import type { Bench, Suite } from '../bench.ts'
import { databaseIn, load, openLedger, repeat, startPeer } from '../processes.ts'

const readyPath = '/api/v1/rails'
const headers = { 'Accept-Encoding': 'identity' }
const reads = [
  { what: 'document of 2 KB', path: '/api/v1/rails/x402' },
  { what: 'document of 30 KB', path: '/docs/rules' },
  { what: 'document of 300 KB', path: '/docs/models' },
]
export const documents: Suite = async ({ dir, many, running }) => {
  buildOnce(dir)
  const database = await running(openLedger(dir))
  const partner = evmWallet('bench partner')
  const wallet = parseWallet(partner.address)
  await database.write((tx) => insertTestPartner(tx, { handle: 'bench', wallet }, Date.now()))
  const service = await running(startLedger(dir, { readyPath }))
  const bench = async (
    what: string,
    request: { readonly path: string; readonly headers: Readonly<Record<string, string>> },
    { count = 40_000, most = 1.05, env = {} } = {},
  ): Promise<Bench> => {
    const args = [service.origin + request.path, JSON.stringify(request.headers)]
    const peer = await running(startPeer('raw-http', { args, env }))
    const sides = repeat([service, ['node:http', peer]], request, many(count))
    return { what, ...sides, targets: { cpuUs: { mostRatio: most } } }
  }
  const path = '/api/v1/og?page=/rails/x402&format=png'
  const signed = await partnerHeaders(partner, { method: 'GET', path }, { nowMs: Date.now() })
  const env = { DATABASE: databaseIn(dir), WALLET: wallet.id }
  const picture = { count: 8000, most: 1.5, env }
  const known = await fetch(service.origin + readyPath, { headers })
  const ifKnown = { ...headers, 'If-None-Match': known.headers.get('etag') ?? '' }
  return await Promise.all([
    // First, since its signature is valid for five minutes.
    bench('picture for a partner, drawn before', { path, headers: signed }, picture),
    ...reads.map(({ what, path }) => bench(what, { path, headers })),
    bench('304', { path: readyPath, headers: ifKnown }, { most: 1.1 }),
  ])
}

export const edge: Suite = async ({ dir, many, running }) => {
  buildOnce(dir)
  const env = { TRUSTED_PROXIES: '127.0.0.1' }
  const service = await running(startLedger(dir, { readyPath, env }))
  const options = {
    servicePort: service.address.port,
    publicDir: join(dir, 'public'),
    // One process, whose CPU time can be read.
    changes: [['worker_processes auto;', 'worker_processes 1; master_process off;']],
  } as const
  const config = 'scripts/bench/peers/nginx.conf'
  const shipped = await running(startNginx(options))
  const plain = await running(startNginx({ ...options, config }))
  return reads.map(({ what, path }) => {
    const request = { path, headers: { 'Accept-Encoding': 'br' } }
    const sides = repeat([shipped, ['cache of nginx alone', plain]], request, many(40_000))
    return { what: `${what}, nginx`, ...sides, targets: { perSecond: { leastRatio: 0.97 } } }
  })
}

export const payments: Suite = async ({ dir, many, running }) => {
  const [payer, to] = [x402.chainAccount('payer'), x402.chainAccount('receiver').address]
  const chain = await running(startUsdcChain())
  await chain.mint(payer.address, 1_000_000_000_000n)
  for (const name of ['settler', 'facilitator']) await chain.fund(x402.chainAccount(name).address)
  const path = pathOf('getAlertFeed')
  const service = await running(startLedger(dir, { env: x402.localSettlement(dir, chain.url) }))
  const peer = await running(startPeer('x402-hono', { args: [chain.url, to, path] }))
  const buy = async (server: ServerProcess) => {
    const requests = Array.from({ length: many(1200) }, async () => {
      const signed = await x402.signAuthorization(payer, { to, value: 2000n })
      const headers = { 'PAYMENT-SIGNATURE': x402.headerOf(x402.paymentV2(signed)) }
      return requestText({ path, headers })
    })
    return await load([server], await Promise.all(requests))
  }
  const sides = { ours: () => buy(service), peer: ['@x402/hono', () => buy(peer)] } as const
  return [{ what: 'paid read', ...sides, targets: { perSecond: { leastRatio: 5, least: 200 } } }]
}
