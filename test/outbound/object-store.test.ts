import { gzipSync } from 'node:zlib'

import { expect, test } from 'vitest'

import { createObjectStore } from '../../src/outbound/object-store.ts'
import { serveDuringTest } from '../support/local-server.ts'

const MiB = 1024 * 1024

test('a gzip bomb of an object store is refused after 64 MiB, and an object of 64 MiB is read', async () => {
  let bytes = 65 * MiB
  const endpoint = await serveDuringTest((_incoming, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(bytes)))
  })
  let nowMs = 0
  const bucket = { region: 'auto', bucket: 'b', prefix: '', accessKeyId: 'a', secretAccessKey: 's' }
  const store = createObjectStore(
    { endpoint, ...bucket },
    {
      fetch,
      // Time passes only here, so that the call is not repeated.
      clock: { now: () => 0, monotonic: () => (nowMs += 20_000), sleep: () => Promise.resolve() },
      patienceMs: 30_000,
    },
  )
  const sizeOf = async (key: string) => (await store.get(key))?.bytes.byteLength
  await expect(sizeOf('bomb')).rejects.toThrow('the object store is unavailable')
  bytes = 64 * MiB
  expect(await sizeOf('large')).toBe(bytes)
})
