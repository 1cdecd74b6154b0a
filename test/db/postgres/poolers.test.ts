/** PgBouncer in front of the server. It rejects unknown startup parameters, or drops those that it is configured to ignore. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { DatabaseRefusedError } from '../../../src/db/errors.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { newPostgresDatabase, onPostgres } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { PostgresServer } from '../../support/postgres.ts'

let server: PostgresServer | null = null
beforeAll(async () => {
  if (!onPostgres) server = await startPostgres()
})
afterAll(() => server?.stop())

const known = new Set(['user', 'database', 'client_encoding', 'application_name'])

/** The message of a client that begins a connection, with the parameters that PgBouncer knows. */
function withoutParameters(message: Buffer): { readonly sent: Buffer; readonly unknown: string[] } {
  const words = message.subarray(8).toString().split('\0')
  const pairs = Array.from({ length: words.length >> 1 }, (_, at) =>
    words.slice(2 * at, 2 * at + 2),
  )
  const named = pairs.filter(([name]) => name !== '')
  const kept = named.filter(([name = '']) => known.has(name))
  const body = Buffer.from(`${kept.flat().join('\0')}\0\0`)
  const head = Buffer.from(message.subarray(0, 8))
  head.writeInt32BE(8 + body.length)
  const unknown = named.map(([name = '']) => name).filter((name) => !known.has(name))
  return { sent: Buffer.concat([head, body]), unknown }
}

function refusal(text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${text}\0\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

async function startPooler(target: URL, ignores: boolean): Promise<URL> {
  const sockets: Socket[] = []
  const pooler = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    sockets.push(client, upstream)
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    client.once('data', (message) => {
      const { sent, unknown } = withoutParameters(message)
      if (!ignores) {
        client.end(refusal(`unsupported startup parameter: ${unknown[0]}`))
        return
      }
      upstream.write(sent)
      client.pipe(upstream).pipe(client)
    })
  })
  pooler.listen(0, '127.0.0.1')
  await once(pooler, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    pooler.close()
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const { port } = pooler.address() as AddressInfo
  return Object.assign(new URL(target), { port: String(port), hostname: '127.0.0.1' })
}

test.each([
  ['refuses the settings of a connection', false],
  ['drops the settings of a connection', true],
])('a pooler that %s is refused at the start with one plain line', async (_, ignores) => {
  const url = await newPostgresDatabase(server?.url)
  const pooled = await startPooler(new URL(url), ignores)
  const opening = openDatabase({ url: pooled.href })
  await expect(opening).rejects.toThrow(DatabaseRefusedError)
  await expect(opening).rejects.toThrow(
    /^DATABASE_URL leads to a connection pooler [^\n]*directly\./,
  )
  await (await openDatabase({ url })).close()
})
