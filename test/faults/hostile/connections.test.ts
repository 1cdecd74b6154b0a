/** Connections that send slowly, send nothing or read nothing: they keep no other client out, and are closed soon. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { serve } from '../../../src/http/serve.ts'
import { jsonDocument, sampleDocuments } from '../../support/http-service.ts'
import { open, received, send } from '../../support/raw-http.ts'
import { atOnce } from '../../support/requests.ts'
import { leavesNothingOut } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { answersOf } from './wire.ts'

allowSlowTests('opens thousands of connections')

const CLIENTS = 60
const IDLE = 5000
/** Descriptors that this process needs in addition to both ends of each connection. */
const SPARE = 500
/** Pause between two pieces of a client. */
const DRIP_MS = 250
const LARGE_BYTES = 7 * 2 ** 20

const large = jsonDocument('/api/v1/rails/large', { text: 'ledger '.repeat(LARGE_BYTES / 7) })
const service = useService({ documents: [...sampleDocuments, large], per: 'file' })

async function othersAreAnswered(): Promise<void> {
  for (const path of ['/api/v1/rails', '/api/v1/receipts?limit=1', '/api/v1/health', '/']) {
    expect([path, (await send(service.address, `GET ${path}`)).status]).toEqual([path, 200])
  }
}

/** As many idle connections as this machine allows a process. */
function idleConnections(): number {
  const needed = 2 * IDLE + SPARE
  const allowed = () => {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const [, soft = 1024, hard = soft] = /^Max open files\s+(\d+)\s+(\d+)/m.exec(limits) ?? []
    return { soft: Number(soft), hard: Number(hard) }
  }
  const { soft, hard } = allowed()
  if (soft < needed) {
    // Only root may raise the hard limit.
    const limit = `--nofile=${needed}:${Math.max(needed, hard)}`
    spawnSync('prlimit', [`--pid=${process.pid}`, limit])
  }
  const count = Math.min(IDLE, Math.floor((allowed().soft - SPARE) / 2))
  if (leavesNothingOut) expect(count, 'connections that ulimit -n leaves room for').toBe(IDLE)
  return count
}

/** Sends the beginning, then pieces. `ended` resolves with the statuses of all answers when the server closes. */
async function drip(beginning: string, piece: string) {
  const socket = await open(service.address)
  socket.on('error', () => undefined)
  const all = received(socket)
  socket.write(beginning)
  const dripping = piece === '' ? undefined : setInterval(() => socket.write(piece), DRIP_MS)
  const ended = all.then((bytes) => {
    clearInterval(dripping)
    return answersOf(bytes)
      .map(({ status }) => status)
      .join()
  })
  return { ended }
}

const post = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const unread = 'GET /api/v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n'

test.concurrent.each([
  ['nothing', '', '', '408', idleConnections()],
  ['a request line', 'GET /', 'a', '408'],
  ['headers', 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\nX-A: ', 'b', '408'],
  ['more headers', 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\n', 'X-A: b\r\n', '408'],
  ['a second request', 'GET /api/v1/jobs HTTP/1.1\r\nHost: a\r\n\r\nGET /', 'a', '200,408'],
  ['a body', `${post}Content-Length: 60000\r\n\r\n{"message":"`, 'a', '408'],
  ['chunks', `${post}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n', '408'],
  // The answer does not depend on the body.
  ['a body that no handler reads', unread, 'a', '404'],
] as const)(
  'connections that slowly send %s are closed while other clients are served',
  async (_name, beginning, piece, statuses, count = CLIENTS) => {
    const clients: { readonly ended: Promise<string> }[] = []
    for (let at = 0; at < count; at += 250) {
      const more = Math.min(250, count - at)
      clients.push(...(await atOnce(more, () => drip(beginning, piece))))
    }
    await othersAreAnswered()
    const ends = await Promise.all(clients.map(({ ended }) => ended))
    expect(new Set(ends)).toEqual(new Set([statuses]))
    await othersAreAnswered()
  },
)

test('answers that are not read are buffered once and then dropped', async () => {
  const before = process.memoryUsage().rss
  const ended: Promise<unknown>[] = []
  const { app, clock } = service
  const impatient = await serve(
    (request, response) => {
      ended.push(once(request.socket, 'close'))
      app.listener(request, response)
    },
    { host: '127.0.0.1', port: 0, clock, failureAnswer: app.failureAnswer, socketTimeoutMs: 4000 },
  )
  const clients = Array.from({ length: CLIENTS }, async () => {
    const socket = await open(impatient.address)
    socket.on('error', () => undefined)
    socket.pause()
    socket.write('GET /api/v1/rails/large HTTP/1.1\r\nHost: a\r\n\r\n')
    return socket
  })
  const sockets = await Promise.all(clients)
  await expect.poll(() => ended.length).toBe(CLIENTS)
  await othersAreAnswered()
  // One copy per client would be 420 MB. Memory of the kernel does not count.
  expect(process.memoryUsage().rss - before).toBeLessThan((CLIENTS / 2) * LARGE_BYTES)
  // The service ends the connections, since no client has read yet; so the answers are incomplete.
  await Promise.all(ended)
  const answers = await Promise.all(sockets.map((socket) => received(socket.resume())))
  for (const bytes of answers) {
    expect(bytes.toString('latin1', 0, 12)).toBe('HTTP/1.1 200')
    expect(bytes.length).toBeLessThan(LARGE_BYTES)
  }
  expect(await impatient.close(60_000)).toBe(true)
  await othersAreAnswered()
})
