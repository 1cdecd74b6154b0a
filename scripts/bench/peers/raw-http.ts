/**
 * The least that Node can do: a map from the request target to bytes and headers that were ready before the request came.
 * `<file>`: the answers as JSON.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

import { z } from 'zod'

const answers = z.array(
  z.object({
    target: z.string(),
    status: z.number(),
    /** Names and values in turn, as `writeHead` takes them. */
    headers: z.array(z.string()),
    /** Base64; empty for an answer without a body. */
    body: z.string(),
  }),
)
const [file = ''] = process.argv.slice(2)
const byTarget = new Map(
  answers
    .parse(JSON.parse(readFileSync(file, 'utf8')))
    .map(({ target, status, headers, body }) => [
      target,
      { status, headers, body: body === '' ? null : Buffer.from(body, 'base64') },
    ]),
)

createServer((req, res) => {
  const answer = byTarget.get(req.url ?? '')
  if (answer === undefined) {
    res.writeHead(404)
    res.end()
    return
  }
  res.writeHead(answer.status, answer.headers)
  if (answer.body === null) res.end()
  else res.end(answer.body)
}).listen(Number(process.env['PORT']), '127.0.0.1')
