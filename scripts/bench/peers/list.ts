/** Returns the same page of receipts as the service, without a total and limits. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { openDatabase } from '../../../src/db/open.ts'
import { receiptRows, receiptView } from '../../../src/db/receipts/receipts.ts'

const { PORT, DATABASE = '' } = process.env
const { reader } = await openDatabase({ url: DATABASE })

async function answer({ url = '' }: IncomingMessage, res: ServerResponse): Promise<void> {
  const { limit = 1, ...filter } = Object.fromEntries(new URL(url, 'http://localhost').searchParams)
  const records = await receiptRows(filter).read(reader, { limit: Number(limit), before: null })
  const receipts = records.map((record) => receiptView(record, 'http://localhost'))
  const text = JSON.stringify({ count: receipts.length, receipts })
  res.writeHead(200, { 'Content-Length': Buffer.byteLength(text) }).end(text)
}

createServer((req, res) => void answer(req, res)).listen(Number(PORT), '127.0.0.1')
