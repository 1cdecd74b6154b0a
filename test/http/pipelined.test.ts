/** Pipelined requests on a connection that closes before they are answered. */
import { expect, test } from 'vitest'

import { PIPELINED_PER_CONNECTION } from '../../src/http/connections.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { gate } from '../db/temp-database.ts'
import { open, received } from '../support/raw-http.ts'
import { useServices } from '../support/use-service.ts'

const services = useServices()

const BEHIND = PIPELINED_PER_CONNECTION - 1
const queued = '/api/v1/receipts?limit=1'

test('pipelined requests end with their connection: none counts as in progress, and each is logged', async () => {
  const meter = createMeter()
  const answered = gate()
  const service = await services.start({
    meter,
    extend: ({ hono }) => {
      hono.get('/held', async (c) => {
        await answered.opened
        return c.text('at last')
      })
    },
  })
  const inFlight = () => meter.gauge('ledger_http_in_flight', {}).value
  const request = (target: string) => `GET ${target} HTTP/1.1\r\nHost: ledger.test\r\n\r\n`
  // Two rounds exceed the limit of reads if requests of ended connections still count.
  const all = 20 * PIPELINED_PER_CONNECTION
  for (let round = 1; round <= 2; round += 1) {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(service.address)))
    for (const socket of sockets) socket.write(request('/held') + request(queued).repeat(BEHIND))
    await expect.poll(inFlight).toBe(all)
    for (const socket of sockets) socket.destroy()
    await expect.poll(inFlight).toBe(0)
    const lines = service.lines().filter(({ message }) => message === 'request')
    expect(lines.map(({ status }) => status)).toEqual(
      Array.from({ length: round * all }, () => 499),
    )
  }
  answered.open()
  expect((await fetch(service.url + queued)).status).toBe(200)
  await expect.poll(inFlight).toBe(0)
  expect(meter.counter('ledger_requests_shed_total', { limit: 'read' }).value).toBe(0)
})

test('a connection that sends too many requests before the first is answered ends at once', async () => {
  const meter = createMeter()
  const service = await services.start({ meter })
  const socket = await open(service.address)
  const ended = received(socket)
  socket.write(`GET ${queued} HTTP/1.1\r\nHost: ledger.test\r\n\r\n`.repeat(1000))
  expect((await ended).toString()).toBe('')
  await expect.poll(() => meter.gauge('ledger_http_in_flight', {}).value).toBe(0)
  const lines = service.lines().filter(({ message }) => message === 'request')
  expect(lines).toHaveLength(PIPELINED_PER_CONNECTION)
})

test('pipelined requests answered in order are counted once, with the status sent', async () => {
  const meter = createMeter()
  const service = await services.start({ meter })
  const socket = await open(service.address)
  const request = `GET ${queued} HTTP/1.1\r\nHost: ledger.test\r\n`
  socket.write(`${request}\r\n`.repeat(BEHIND) + `${request}Connection: close\r\n\r\n`)
  for await (const _ of socket) continue
  const lines = service.lines().filter(({ message }) => message === 'request')
  expect(lines.map(({ status }) => status)).toEqual(
    Array.from({ length: PIPELINED_PER_CONNECTION }, () => 200),
  )
  await expect.poll(() => meter.gauge('ledger_http_in_flight', {}).value).toBe(0)
})
