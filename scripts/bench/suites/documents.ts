/** Reads of published documents and of a stored picture, against node:http that repeats the same answers. */
import { parseWallet } from '../../../src/core/wallet.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { insertTestPartner } from '../../../test/support/partners.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { evmWallet, partnerHeaders } from '../../../test/support/wallets.ts'
import type { Bench, Suite } from '../bench.ts'
import { buildOnce, databaseIn, repeat, startPeer, startService } from '../processes.ts'

const path = '/api/v1/rails'
const picture = '/api/v1/og?page=/rails/x402&format=png'
const reads = [
  { what: 'a rail', path: '/api/v1/rails/x402' },
  { what: 'all rails', path },
  { what: 'all rails as brotli', path, headers: { 'Accept-Encoding': 'br' } },
  { what: 'the home page', path: '/' },
]

export const documents: Suite = {
  about: 'reads of documents, 304, and a picture for partners, against bare node:http',
  prepare: async ({ dir, quick, running }) => {
    buildOnce(dir)
    const database = await openDatabase({ url: databaseIn(dir) })
    const partner = evmWallet('bench partner')
    const wallet = parseWallet(partner.address)
    await database.write((tx) => insertTestPartner(tx, { handle: 'bench', wallet }, Date.now()))
    await database.close()
    const service = await running(startService(dir, { readyPath: path }))
    const whole = await fetch(service.origin + path, { headers: { 'Accept-Encoding': 'identity' } })
    const headers = { 'If-None-Match': whole.headers.get('etag') ?? '' }
    const counts = quick ? ([2000, 6000] as const) : ([20_000, 60_000] as const)
    /** A signature is valid for some minutes, and the service checks a repeated one once. */
    const signed = async () => ({
      path: picture,
      headers: await partnerHeaders(
        partner,
        { method: 'GET', path: picture },
        { nowMs: Date.now() },
      ),
    })
    const peerOf = async (request: Awaited<ReturnType<typeof signed>>, env = {}) => {
      const args = [service.origin + request.path, JSON.stringify(request.headers)]
      return await running(startPeer('raw-http', { args, env }))
    }
    const benches: Bench[] = []
    for (const { what, ...read } of [...reads, { what: 'all rails, 304', path, headers }]) {
      const request = { headers: {}, ...read }
      const [measure, peer] = [repeat(request, counts), await peerOf(request)]
      benches.push({
        what,
        ours: measure(service),
        peer: ['node:http', measure(peer)],
        figures: { cpuUs: { mostRatio: what.endsWith('304') ? 1.1 : 1.05 }, perSecond: {} },
      })
    }
    const lookUp = await peerOf(await signed(), { DATABASE: databaseIn(dir), WALLET: wallet.id })
    const measure = async (server: ServerProcess) =>
      await repeat(await signed(), [2000, 8000])(server)()
    benches.push({
      what: 'a stored picture',
      ours: () => measure(service),
      peer: ['look-up of the partner', () => measure(lookUp)],
      figures: { cpuUs: { mostRatio: 1.5 }, perSecond: {} },
    })
    return benches
  },
}
