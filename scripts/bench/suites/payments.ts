/** Reads paid with USDC on a local chain that mines each transaction at once, against the middleware of the x402 project. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { pathOf } from '../../../src/contract/routes.ts'
import { requestText } from '../../../test/support/keep-alive.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../../../test/support/x402-payment.ts'
import type { Suite } from '../bench.ts'
import { load, startPeer, startService } from '../processes.ts'

const path = pathOf('getAlertFeed')
const priceMicroUsdc = 2000n
const [payer, to] = [chainAccount('payer'), chainAccount('receiver').address]

export const payments: Suite = {
  about: 'paid reads on a local chain, against @x402/hono',
  prepare: async ({ dir, quick, running }) => {
    const chain = await running(startUsdcChain())
    await chain.mint(payer.address, 1_000_000_000_000n)
    for (const name of ['settler', 'facilitator']) await chain.fund(chainAccount(name).address)
    const SETTLER_KEY_FILE = join(dir, 'settler.key')
    writeFileSync(SETTLER_KEY_FILE, chainKey('settler'), { mode: 0o600 })
    const settlement = { SETTLEMENT: 'local', PAYMENT_RECEIVER: to, SETTLER_KEY_FILE }
    const env = { ...settlement, RPC_URL_BASE: chain.url }
    const service = await running(startService(dir, { env }))
    const peer = await running(startPeer('x402-hono', { args: [chain.url, to, path] }))
    const [warm, count] = quick ? [100, 200] : [200, 1500]
    const buy = (server: ServerProcess) => async () => {
      const requests = await Promise.all(
        Array.from({ length: warm + count }, async () => {
          const signed = await signAuthorization(payer, { to, value: priceMicroUsdc })
          const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) }
          return Buffer.from(requestText({ path, headers }))
        }),
      )
      return await load(server, requests, warm)
    }
    return [
      {
        what: 'paid read',
        ours: buy(service),
        peer: ['@x402/hono', buy(peer)],
        figures: {
          perSecond: { leastRatio: 5, least: 200 },
          cpuUs: {},
          p99Ms: {},
        },
      },
    ]
  },
}
