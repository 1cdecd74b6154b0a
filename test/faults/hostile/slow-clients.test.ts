/** Clients that are slow on purpose: endless request lines, headers, bodies and reads. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

import { describe, expect, test } from 'vitest'

import { serve } from '../../../src/http/serve.ts'
import { jsonDocument, sampleDocuments } from '../../support/http-service.ts'
import { runCommand } from '../../support/program.ts'
import { open, received, send } from '../../support/raw-http.ts'
import { isRunnable } from '../../support/runnable.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { answersOf } from './wire.ts'

allowSlowTests('starts slowhttptest')

const CLIENTS = 60
/** Pause between two bytes of a client. */
const DRIP_MS = 250
/** A reader of a few bytes per second would need days for this text. */
const LARGE_BYTES = 7 * 2 ** 20

const large = jsonDocument('/api/v1/rails/large', { text: 'ledger '.repeat(LARGE_BYTES / 7) })
const service = useService({ documents: [...sampleDocuments, large], per: 'file' })

/** Sends the beginning, then pieces until the server closes. Returns all received bytes. */
async function drip(beginning: string, piece: string): Promise<Buffer> {
  const socket = await open(service.address)
  socket.on('error', () => undefined)
  const dripping = setInterval(() => socket.write(piece), DRIP_MS)
  const all = received(socket)
  socket.write(beginning)
  const bytes = await all
  clearInterval(dripping)
  return bytes
}

async function othersAreAnswered(): Promise<void> {
  for (const path of ['/api/v1/rails', '/api/v1/health', '/api/v1/jobs']) {
    expect((await send(service.address, `GET ${path}`)).status).toBe(200)
  }
}

const line = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

test('requests sent one byte at a time end with 408 while other clients are served', async () => {
  const kinds = [
    ['a request line', 'GET /', 'a'],
    ['headers', 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\nX-A: ', 'b'],
    ['more headers', 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\n', 'X-A: b\r\n'],
    ['a second request', 'GET /api/v1/jobs HTTP/1.1\r\nHost: a\r\n\r\nGET /', 'a'],
    ['a body', `${line}Content-Length: 60000\r\n\r\n{"message":"`, 'a'],
    ['chunks', `${line}Transfer-Encoding: chunked\r\n\r\n`, '1\r\na\r\n'],
    [
      'a body that no handler reads',
      'GET /api/v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n',
      'a',
    ],
  ] as const
  const slow = kinds.map(async ([kind, beginning, piece]) => {
    const ends = await Promise.all(Array.from({ length: CLIENTS }, () => drip(beginning, piece)))
    const statuses = ends.map((bytes) =>
      answersOf(bytes)
        .map(({ status }) => status)
        .join(),
    )
    return [kind, [...new Set(statuses)].toSorted()] as const
  })
  await othersAreAnswered()
  const seen = Object.fromEntries(await Promise.all(slow))
  expect(seen).toEqual({
    'a request line': ['408'],
    headers: ['408'],
    'more headers': ['408'],
    'a second request': ['200,408'],
    'a body': ['408'],
    chunks: ['408'],
    // The answer does not depend on the body.
    'a body that no handler reads': ['404'],
  })
  await othersAreAnswered()
})

test('connections that send nothing are closed', async () => {
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => open(service.address)))
  await othersAreAnswered()
  await Promise.all(sockets.map((socket) => received(socket)))
})

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

describe.skipIf(!isRunnable('slowhttptest'))('slowhttptest', () => {
  test.each([
    ['headers', ['-H', '-x', '24', '-t', 'GET'], '/api/v1/health'],
    ['bodies', ['-B', '-s', '8192', '-t', 'POST', '-x', '10'], '/api/v1/feedback'],
    ['reads', ['-X', '-w', '10', '-y', '20', '-n', '5', '-z', '32'], '/api/v1/rails/large'],
  ])('finds the service available while it is slow with %s', async (_name, how, path) => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-slow-'))
    const bounds = ['-c', '150', '-r', '150', '-i', '2', '-p', '10', '-l', '6']
    const address = ['-u', `${service.url}${path}`]
    const attack = runCommand('slowhttptest', [...bounds, ...how, ...address], {}, folder)
    await attack.ended
    rmSync(folder, { recursive: true, force: true })
    const plain = stripVTControlCharacters(attack.output())
    const verdicts = [...plain.matchAll(/service available:\s+(\w+)/g)].map(
      ([, verdict]) => verdict,
    )
    expect(new Set(verdicts)).toEqual(new Set(['YES']))
    await othersAreAnswered()
  })
})
