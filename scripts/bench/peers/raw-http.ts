/** `<url> <headers as JSON>`: repeats the answer of the service to one request, the least work for Node. */
import { createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

import { openDatabase } from '../../../src/db/open.ts'
import { findPartner } from '../../../src/db/partners.ts'

const [url = '', headers = '{}'] = process.argv.slice(2)
const addedByNode = /^(?:date|connection|keep-alive)$/i
const answer = await new Promise<IncomingMessage>((resolve, reject) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the suite sends it
  get(url, { headers: JSON.parse(headers) as Record<string, string> }, resolve).on('error', reject)
})
const body = await buffer(answer)
const { statusCode = 0, rawHeaders } = answer
const fields = rawHeaders.filter((_, at) => !addedByNode.test(rawHeaders[at - (at % 2)] ?? ''))
const { pathname, search } = new URL(url)
const bodies = new Map([[pathname + search, body]])
const { PORT, DATABASE, WALLET: wallet = '' } = process.env
const database = DATABASE === undefined ? null : await openDatabase({ url: DATABASE })

createServer((req, res) => {
  const known = bodies.get(req.url ?? '')
  const end = () => res.writeHead(statusCode, fields).end(known?.length === 0 ? undefined : known)
  if (known === undefined) res.writeHead(200).end()
  else if (database === null) end()
  else void findPartner(database.reader, { wallet }).then(end)
}).listen(Number(PORT), '127.0.0.1')
