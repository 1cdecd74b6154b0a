import { once } from 'node:events'

import { expect, test } from 'vitest'

import { BusyError } from '../../src/db/errors.ts'
import { gate } from '../db/temp-database.ts'
import { open, parseAnswer, received, send } from '../support/raw-http.ts'
import { useServices } from '../support/use-service.ts'

const { start } = useServices()

test('shutdown waits for requests in progress and accepts no new connection', async () => {
  const begun = gate()
  const finish = gate()
  const service = await start({
    health: async () => {
      begun.open()
      await finish.opened
      return { statusCode: 200, body: { status: 'ok' } }
    },
  })
  const idle = await open(service.address)
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await received(idle, '</title>')
  const answering = fetch(`${service.url}/api/v1/health`)
  await begun.opened
  const closing = service.server.close(10_000)
  await received(idle)
  await expect(open(service.address)).rejects.toThrow('ECONNREFUSED')
  finish.open()
  const answer = await answering
  expect(answer.status).toBe(200)
  expect(await answer.json()).toEqual({ status: 'ok' })
  expect(await closing).toBe(true)
})

test('a request that does not end is aborted after the grace period', async () => {
  const begun = gate()
  const service = await start({
    health: () => {
      begun.open()
      return new Promise(() => undefined)
    },
  })
  const answering = fetch(`${service.url}/api/v1/health`)
  const outcome = answering.then(
    () => 'answered',
    () => 'cut',
  )
  await begun.opened
  expect(await service.server.close(50)).toBe(false)
  expect(await outcome).toBe('cut')
})

test('headers sent slowly return 408 after five seconds', async () => {
  const service = await start()
  const socket = await open(service.address)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-A: ')
  const answer = parseAnswer(await received(socket))
  expect(answer.status).toBe(408)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'request_timeout' })
})

test('a request answered before its end is not answered again when the rest is malformed', async () => {
  const service = await start()
  for (const path of ['/', '/api/v1/health', '/api/v1/nothing']) {
    const socket = await open(service.address)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const all = received(socket)
    await once(socket, 'data')
    socket.write('no size of a chunk\r\n')
    expect([...(await all).toString('latin1').matchAll(/HTTP\/1\.1 \d/g)]).toHaveLength(1)
  }
})

test('an address in use fails the start', async () => {
  const first = await start()
  const { serve } = await import('../../src/http/serve.ts')
  const { host, port } = first.address
  const { clock, app } = first
  const again = serve(app.listener, { host, port, clock, failureAnswer: app.failureAnswer })
  await expect(again).rejects.toThrow('EADDRINUSE')
})

test('an internal error returns a bare 500 and its cause is only logged', async () => {
  const service = await start({
    health: () => Promise.reject(new Error('SQLITE_ERROR: no such table: /var/lib/secret.db')),
  })
  const answer = await send(service.address, 'GET /api/v1/health')
  expect(answer.status).toBe(500)
  const id = answer.headers.get('x-request-id')
  expect(JSON.parse(answer.body.toString())).toEqual({
    error: 'Internal error',
    code: 'internal_error',
    details: `Request ${id}`,
    docs: 'https://ledger.test/docs/errors#internal_error',
  })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const fault = service.lines().find((line) => line['message'] === 'request failed')
  expect(fault).toMatchObject({ level: 'error', request_id: id, error: 'Error' })
  expect(fault?.['reason']).toContain('no such table')
})

test('a busy database returns 503 with Retry-After', async () => {
  const service = await start({ health: () => Promise.reject(new BusyError('locked by 4711')) })
  const answer = await send(service.address, 'GET /api/v1/health')
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toBe('5')
  expect(answer.body.toString()).not.toContain('4711')
})

test('readiness lists what is missing; liveness needs nothing', async () => {
  const waiting: string[] = ['shutting down']
  const service = await start({ obstacles: () => Promise.resolve(waiting) })
  const busy = await fetch(`${service.url}/readyz`)
  expect([busy.status, await busy.json()]).toEqual([
    503,
    { status: 'not ready', waiting_for: ['shutting down'] },
  ])
  waiting.pop()
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200)
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
})

test('the health endpoint returns the status of its check', async () => {
  const service = await start({
    health: () => Promise.resolve({ statusCode: 503, body: { status: 'degraded' } }),
  })
  const answer = await send(service.address, 'GET /api/v1/health')
  expect([answer.status, answer.body.toString()]).toEqual([503, '{"status":"degraded"}'])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('retry-after')).toBe('5')
})

test('each request is logged as one line without query, headers or body', async () => {
  const service = await start()
  const secret = 'Authorization: Bearer 0xsecret'
  const requests = [
    ['GET', '/api/v1/rails', 400],
    ['GET', '/snapshot.json', 200],
    ['GET', '/api/v1/health', 200],
    ['GET', '/api/v1/rails/nope', 404],
    ['PUT', '/api/v1/rails', 405],
    ['GET', '/%2e%2e', 400],
  ] as const
  for (const [method, path] of requests) {
    const query = path === '/api/v1/health' ? '' : '?token=0xsecret'
    await send(service.address, `${method} ${path}${query}`, [secret, 'X-PAYMENT: 0xsecret'])
  }
  const lines = service.lines().filter((line) => line['message'] === 'request')
  expect(lines.map((line) => [line['method'], line['path'], line['status']])).toEqual(requests)
  const fields = [
    'time',
    'level',
    'message',
    'request_id',
    'method',
    'path',
    'status',
    'ms',
    'bytes',
  ]
  for (const line of lines) {
    expect(Object.keys(line)).toEqual(fields)
    expect(line['bytes']).toBeGreaterThan(0)
  }
  expect(new Set(lines.map((line) => line['request_id'])).size).toBe(lines.length)
  expect(JSON.stringify(service.lines())).not.toContain('secret')
})

test('LOG_LEVEL=warn disables the request log', async () => {
  const service = await start({ level: 'warn' })
  await fetch(`${service.url}/api/v1/rails`)
  await fetch(`${service.url}/api/v1/health`)
  expect(service.lines()).toEqual([])
})
