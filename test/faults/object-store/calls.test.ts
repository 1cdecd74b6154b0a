import { describe, expect, test } from 'vitest'

import { unusedUrl } from '../../support/local-server.ts'
import { startFaultyProxy } from '../../support/s3/faulty-proxy.ts'
import type { Fault } from '../../support/s3/faulty-proxy.ts'
import { noGateway, openBucket, useGateway } from '../../support/s3/gateway.ts'

const leftOut = noGateway === null ? '' : ` (left out: ${noGateway})`

describe.skipIf(noGateway !== null)(`calls of an object store${leftOut}`, () => {
  const gateway = useGateway()

  async function bucketBehindFaults(patienceMs?: number) {
    const address = await gateway.newBucket()
    const proxy = await startFaultyProxy(gateway.endpoint)
    const direct = openBucket(address)
    return {
      proxy,
      direct,
      store: openBucket({ ...address, endpoint: proxy.endpoint }, patienceMs),
    }
  }

  test('an object store writes, reads, lists and removes objects, and keeps to conditions', async () => {
    const store = openBucket(await gateway.newBucket())
    expect(await store.get('a')).toBeNull()
    expect(await store.put('a', Buffer.from('first'), { 'if-none-match': '*' })).toBe(true)
    expect(await store.put('a', Buffer.from('second'), { 'if-none-match': '*' })).toBe(false)
    expect((await store.get('a'))?.bytes.toString()).toBe('first')
    await Promise.all(
      Array.from({ length: 1001 }, (_, at) => store.put(`list/${at}`, Buffer.from(`${at}`), {})),
    )
    const listed = await store.list('list/')
    expect(listed.size).toBe(1001)
    expect([...listed.values()].every((timeMs) => timeMs > Date.UTC(2020, 0))).toBe(true)
    await store.remove('a')
    await store.remove('a')
    expect(await store.get('a')).toBeNull()
  })

  test.each<Fault>(['refused', 'lost', 'cut', 'changed', 'slow', 'twice'])(
    'objects arrive whole although every second request is %s',
    async (fault) => {
      const { proxy, direct, store } = await bucketBehindFaults()
      let count = 0
      proxy.fail(() => ((count += 1) % 2 === 1 ? fault : undefined))
      const body = Buffer.alloc(100_000, 'figures ')
      expect(await store.put('o/body', body, {})).toBe(true)
      expect((await direct.get('o/body'))?.bytes.equals(body)).toBe(true)
      expect((await store.get('o/body'))?.bytes.equals(body)).toBe(true)
      await store.remove('o/body')
      expect(await direct.get('o/body')).toBeNull()
    },
  )

  test('calls of an unavailable object store fail with the reason and name no address', async () => {
    const { proxy, store } = await bucketBehindFaults(800)
    proxy.fail(() => 'refused')
    const broken = store.put('a', Buffer.from('x'), {})
    await expect(broken).rejects.toThrow('the object store answered 500 InternalError')
    proxy.fail(() => 'silent')
    await expect(store.get('a')).rejects.toThrow('the object store did not respond in time')
    const address = await gateway.newBucket()
    const dead = openBucket({ ...address, endpoint: await unusedUrl() }, 500)
    await expect(dead.get('a')).rejects.toThrow('the object store is unavailable')
    const stranger = openBucket({ ...address, bucket: 'ledger-of-somebody-else' })
    const missing = stranger.put('a', Buffer.from('x'), {})
    await expect(missing).rejects.toThrow('the object store has no such bucket')
  })
})
