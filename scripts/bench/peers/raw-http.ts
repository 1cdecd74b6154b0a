/**
 * The least work for Node. With `<url> <headers as JSON>` it repeats the answer of the service to one request; without, it
 * returns lists of receipts as the service does, but without their total. With WALLET it looks up this partner first.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { openDatabase } from '../../../src/db/open.ts'
import { findPartner } from '../../../src/db/partners.ts'
import { receiptRows, receiptView } from '../../../src/db/receipts/receipts.ts'

const [url = '', headers = '{}'] = process.argv.slice(2)
const { PORT, DATABASE, WALLET: wallet = '' } = process.env
const database = DATABASE === undefined ? null : await openDatabase({ url: DATABASE })
const answer = url === '' ? list : await repeated()

createServer((req, res) => {
  if (req.url === '/healthz') res.end()
  else void answer(req, res)
}).listen(Number(PORT), '127.0.0.1')

async function repeated() {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the suite sends it
  const response = await fetch(url, { headers: JSON.parse(headers) as Record<string, string> })
  const body = Buffer.from(await response.arrayBuffer())
  const addedByNode = ['date', 'connection', 'keep-alive']
  const fields = [...response.headers].filter(([name]) => !addedByNode.includes(name)).flat()
  const { pathname, search } = new URL(url)
  const bodies = new Map([[pathname + search, body.length === 0 ? undefined : body]])
  return async (req: IncomingMessage, res: ServerResponse) => {
    if (database !== null) await findPartner(database.reader, { wallet })
    res.writeHead(response.status, fields).end(bodies.get(req.url ?? ''))
  }
}

async function list({ url: target = '' }: IncomingMessage, res: ServerResponse): Promise<void> {
  if (database === null) throw new Error('no DATABASE')
  const query = new URL(target, 'http://localhost').searchParams
  const { limit = 1, ...filter } = Object.fromEntries(query)
  const page = { limit: Number(limit), before: null }
  const records = await receiptRows(filter).read(database.reader, page)
  const receipts = records.map((record) => receiptView(record, 'http://localhost'))
  const text = JSON.stringify({ count: receipts.length, receipts })
  res.writeHead(200, { 'Content-Length': Buffer.byteLength(text) }).end(text)
}
