/** Connection limits: a network fills its own share only, and a newcomer is served even when all connections are in use. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { CONNECTIONS_PER_HOST } from '../../src/http/connections.ts'
import { serve } from '../../src/http/serve.ts'
import type { RunningServer } from '../../src/http/serve.ts'
import { gate } from '../db/temp-database.ts'
import { jsonDocument, publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'

const attacker = '127.0.0.2'
const neighbour = '127.0.0.3'
const LARGE_BYTES = 16 * 1024 * 1024
const large = jsonDocument('/api/v1/rails/large', { text: 'x'.repeat(LARGE_BYTES) })

let published: PublicDir
let service: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish([...sampleDocuments, large])
  service = await startService(published.dir, { limits: 'on' })
})
afterAll(async () => {
  await service.stop()
  await published.remove()
})

async function openFrom(localAddress: string, { address }: Pick<RunningServer, 'address'>) {
  const socket = connect({ ...address, localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

function request(socket: Socket, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ledger.test\r\n\r\n`)
  return new Promise((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1', 0, 12)))
    socket.once('close', () => resolve('closed'))
  })
}

const openCount = (sockets: readonly Socket[]): number =>
  sockets.filter(({ closed, destroyed }) => !closed && !destroyed).length

async function openMany(count: number, localAddress: string): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  for (let at = 0; at < count; at += 1) {
    const socket = await openFrom(localAddress, service)
    // The end of the connection is noticed only while its data is read.
    sockets.push(socket.resume())
  }
  return sockets
}

describe('one network with many connections', () => {
  test("a network with many connections keeps the newest of its share and closes nobody else's", async () => {
    const honest = await openFrom(neighbour, service)
    expect(await request(honest, '/api/v1/rails')).toBe('HTTP/1.1 200')
    const idle = await openMany(CONNECTIONS_PER_HOST + 40, attacker)
    await expect.poll(() => openCount(idle)).toBe(CONNECTIONS_PER_HOST)
    expect(openCount(idle.slice(0, 40))).toBe(0)
    expect(await request(honest, '/api/v1/rails')).toBe('HTTP/1.1 200')
    for (const socket of [...idle, honest]) socket.destroy()
  })

  test('a trusted proxy may keep more connections open than one network', async () => {
    const proxied = await serve(service.app.listener, {
      host: '127.0.0.1',
      port: 0,
      clock: service.clock,
      ...service.app,
      connectionOwners: {
        networkOf: () => ({ host: 1, range: null }),
        isProxy: (address) => address === '127.0.0.1',
      },
    })
    const sockets = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_HOST + 20 }, () => openFrom('127.0.0.1', proxied)),
    )
    for (const socket of sockets.slice(0, 20)) {
      expect(await request(socket, '/api/v1/rails')).toBe('HTTP/1.1 200')
    }
    for (const socket of sockets) socket.destroy()
    await proxied.close(1000)
  })
})

describe('a service whose connections are all in use', () => {
  test('closes the idlest connection when all are in use, not one whose request is being answered', async () => {
    const begun = gate()
    const finish = gate()
    const slow = await startService(published.dir, {
      health: async () => {
        begun.open()
        await finish.opened
        return { statusCode: 200, body: { status: 'ok' } }
      },
    })
    const { clock, app } = slow
    const bounded = await serve(app.listener, {
      ...app,
      host: '127.0.0.1',
      port: 0,
      clock,
      maxConnections: 3,
    })
    const busy = await openFrom(attacker, bounded)
    const answer = request(busy, '/api/v1/health')
    await begun.opened
    const idle = [await openFrom(attacker, bounded), await openFrom(attacker, bounded)]
    for (const socket of idle) socket.resume()
    const newcomer = await openFrom(neighbour, bounded)
    expect(await request(newcomer, '/api/v1/rails')).toBe('HTTP/1.1 200')
    await expect.poll(() => idle.map((socket) => openCount([socket]))).toEqual([0, 1])
    finish.open()
    expect(await answer).toBe('HTTP/1.1 200')
    for (const socket of [busy, newcomer, ...idle]) socket.destroy()
    await bounded.close(1000)
    await slow.stop()
  })
})

test('idle connections end after 5 s while more than half of all are in use, and those of a proxy stay', async () => {
  const { app, clock } = service
  const proxy = '127.0.0.9'
  const server = await serve(app.listener, {
    ...app,
    host: '127.0.0.1',
    port: 0,
    clock,
    maxConnections: 3,
    connectionOwners: {
      networkOf: () => ({ host: 1, range: null }),
      isProxy: (address) => address === proxy,
    },
  })
  const proxied = (await openFrom(proxy, server)).resume()
  const few = (await openFrom(attacker, server)).resume()
  clock.advance(60_000)
  expect(await request(few, '/api/v1/rails')).toBe('HTTP/1.1 200')
  const third = (await openFrom(attacker, server)).resume()
  await expect
    .poll(() => {
      clock.advance(6000)
      return openCount([few, third])
    })
    .toBe(0)
  expect(openCount([proxied])).toBe(1)
  proxied.destroy()
  await server.close(1000)
})

test('a client that takes its response too slowly is disconnected', async () => {
  const { app, clock } = service
  let isOpen = true
  const server = await serve(
    (req, res) => {
      req.socket.once('close', () => {
        isOpen = false
      })
      app.listener(req, res)
    },
    { ...app, host: '127.0.0.1', port: 0, clock },
  )
  const reader = await openFrom(neighbour, server)
  expect(await request(reader, large.path)).toBe('HTTP/1.1 200')
  reader.pause()
  await expect
    .poll(() => {
      clock.advance(10 * 60_000)
      return isOpen
    })
    .toBe(false)
  reader.destroy()
  await server.close(1000)
})
