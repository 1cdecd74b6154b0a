/**
 * The official middleware with the official facilitator in the same process, which settles with a wallet of its own. Sells
 * the bytes of a file at `/sold`, and gives them away at `/free`.
 * `<RPC address> <receiver> <price in USDC> <file> <its content type> <name of the settling wallet>`
 */
import { readFileSync } from 'node:fs'

import { serve } from '@hono/node-server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { Hono } from 'hono'

import { referenceFacilitator } from '../../../test/support/reference-facilitator.ts'

const [rpcUrl = '', payTo = '', price = '', file = '', contentType = '', wallet = ''] =
  process.argv.slice(2)
const body = readFileSync(file)
const network = 'eip155:8453'
const facilitator = referenceFacilitator(rpcUrl, wallet)
const resources = new x402ResourceServer({
  verify: async (payment, requirements) => await facilitator.verify(payment, requirements),
  settle: async (payment, requirements) => await facilitator.settle(payment, requirements),
  getSupported: () => {
    const { kinds, extensions, signers } = facilitator.getSupported()
    const second = kinds.filter(({ x402Version }) => x402Version === 2)
    return Promise.resolve({
      kinds: second.map((kind) => ({ ...kind, network })),
      extensions,
      signers,
    })
  },
}).register(network, new ExactEvmScheme())

const app = new Hono()
const accepts = { scheme: 'exact', price: `$${price}`, network, payTo } as const
app.use(paymentMiddleware({ 'GET /sold': { accepts } }, resources))
for (const path of ['/sold', '/free']) {
  app.get(path, (c) => c.body(body, 200, { 'Content-Type': contentType }))
}
serve({ fetch: app.fetch, port: Number(process.env['PORT']), hostname: '127.0.0.1' })
