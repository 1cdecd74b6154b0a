/**
 * `<origin> <path>…`: repeats the answers of the service from a map, the least that Node can do. At `/304` before a path it
 * repeats the answer to a client that has the document.
 */
import { createServer } from 'node:http'

const [origin = '', ...paths] = process.argv.slice(2)
const addedByNode = new Set(['date', 'connection', 'keep-alive'])

async function answerTo(path: string, etag: string | null) {
  const condition = etag === null ? {} : { 'if-none-match': etag }
  const headers = { 'accept-encoding': 'identity', ...condition }
  const response = await fetch(`${origin}${path}`, { headers })
  const fields = [...response.headers].filter(([name]) => !addedByNode.has(name))
  const body = Buffer.from(await response.arrayBuffer())
  return {
    status: response.status,
    etag: response.headers.get('etag'),
    fields: fields.flat(),
    body,
  }
}

const answers = new Map<string, Awaited<ReturnType<typeof answerTo>>>()
for (const path of paths) {
  const whole = await answerTo(path, null)
  answers.set(path, whole)
  answers.set(`/304${path}`, await answerTo(path, whole.etag))
}

createServer((req, res) => {
  const answer = answers.get(req.url ?? '')
  if (answer === undefined) {
    res.writeHead(404)
    res.end()
    return
  }
  res.writeHead(answer.status, answer.fields)
  if (answer.body.length === 0) res.end()
  else res.end(answer.body)
}).listen(Number(process.env['PORT']), '127.0.0.1')
