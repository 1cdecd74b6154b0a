/** `<node> <receiver> <path>`: sells a read with the middleware of the x402 project and its facilitator, in one process. */
import { serve } from '@hono/node-server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/hono'
import { Hono } from 'hono'

import { referenceFacilitator } from '../../../test/support/reference-facilitator.ts'

const [node = '', payTo = '', path = ''] = process.argv.slice(2)
const kind = { scheme: 'exact', network: 'eip155:8453' } as const
const facilitator = referenceFacilitator(node)
const server = new x402ResourceServer({
  verify: (...payment) => facilitator.verify(...payment),
  settle: (...payment) => facilitator.settle(...payment),
  getSupported: () =>
    Promise.resolve({ kinds: [{ x402Version: 2, ...kind }], extensions: [], signers: {} }),
}).register(kind.network, new ExactEvmScheme())
const accepts = { ...kind, price: '$0.002', payTo, maxTimeoutSeconds: 120 }

const app = new Hono()
app.get('/healthz', (c) => c.text('ok'))
app.use(paymentMiddleware({ [`GET ${path}`]: { accepts } }, server))
app.get(path, (c) => c.body('{}', 200, { 'Content-Length': '2' }))
serve({ fetch: app.fetch, port: Number(process.env['PORT']), hostname: '127.0.0.1' })
