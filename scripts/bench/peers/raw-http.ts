/** `<url> <headers as JSON>`: repeats the answer of the service to one request, the least work for Node. */
import { createServer, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

const [url = '', headers = '{}'] = process.argv.slice(2)
const addedByNode = /^(?:date|connection|keep-alive)$/i
const answer = await new Promise<IncomingMessage>((resolve, reject) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the suite sends it
  get(url, { headers: JSON.parse(headers) as Record<string, string> }, resolve).on('error', reject)
})
const body = await buffer(answer)
const { statusCode = 0, rawHeaders } = answer
const fields = rawHeaders.filter((_, at) => !addedByNode.test(rawHeaders[at - (at % 2)] ?? ''))
const bodies = new Map([[new URL(url).pathname, body]])

createServer((req, res) => {
  const known = bodies.get(req.url ?? '')
  if (known === undefined) res.writeHead(200).end()
  else res.writeHead(statusCode, fields).end(known.length === 0 ? undefined : known)
}).listen(Number(process.env['PORT']), '127.0.0.1')
