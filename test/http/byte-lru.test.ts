import { describe, expect, test } from 'vitest'

import { createByteLru } from '../../src/http/byte-lru.ts'

/** Makes as many bytes as the leading number of the source, and records each source. */
function maker(maxBytes: number, fail: () => boolean = () => false) {
  const made: string[] = []
  const get = createByteLru(async (source) => {
    made.push(source)
    await Promise.resolve()
    if (fail()) throw new Error('no picture')
    return new Uint8Array(Number.parseInt(source, 10))
  }, maxBytes)
  return { made, get }
}

describe('a byte LRU', () => {
  test('computes a cache entry once for concurrent and later readers', async () => {
    const { made, get } = maker(100)
    const [one, two] = await Promise.all([get('10 a'), get('10 a')])
    expect(two).toBe(one)
    expect(await get('10 a')).toBe(one)
    expect(made).toEqual(['10 a'])
  })

  test('a byte LRU evicts the least recently used entry at its byte limit, and computes it anew', async () => {
    const { made, get } = maker(100)
    for (const source of ['40 a', '40 b', '40 a', '40 c', '40 a']) await get(source)
    expect(made).toEqual(['40 a', '40 b', '40 c'])
    await get('40 b')
    expect(made.at(-1)).toBe('40 b')
  })

  test('does not cache an entry larger than the limit', async () => {
    const { made, get } = maker(100)
    for (const source of ['101 a', '101 a', '10 b', '10 b']) await get(source)
    expect(made).toEqual(['101 a', '101 a', '10 b'])
  })

  test('computes a cache entry again after a failure', async () => {
    let isBroken = true
    const { made, get } = maker(100, () => isBroken)
    await expect(get('10 a')).rejects.toThrow('no picture')
    isBroken = false
    expect(await get('10 a')).toHaveLength(10)
    expect(made).toEqual(['10 a', '10 a'])
  })
})
