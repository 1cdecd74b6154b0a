import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { createHolder } from '../../src/db/holder.ts'
import { LeaseLostError, releaseLease, requireLease, takeLease } from '../../src/db/leases.ts'
import type { HeldLease } from '../../src/db/leases.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { endedHolder } from '../support/ended-holder.ts'
import { tempDatabase } from './temp-database.ts'

const name = 'builder'
const ttlMs = 15_000

/** Opens one database twice, as two processes do. */
async function twoProcesses() {
  const first = await tempDatabase()
  const second = await tempDatabase({ url: first.url })
  const take = async ({ write }: OpenDatabase, holder: string) =>
    await write((tx) => takeLease(tx, { name, holder, ttlMs }))
  return { first, second, take }
}

async function endAt({ write }: OpenDatabase, until: ReturnType<typeof sql<number>>) {
  await write((tx) => tx.updateTable('leases').set({ until }).execute())
}

const held = (holder: string, fence: number): HeldLease => ({ name, holder, fence })

test('of 20 processes at once one gets the lease, and its fence is 1', async () => {
  const database = await tempDatabase()
  const others = await Promise.all(
    Array.from({ length: 20 }, () => openDatabase({ url: database.url })),
  )
  const fences = await Promise.all(
    others.map(({ write }, at) =>
      write((tx) => takeLease(tx, { name, holder: `process ${at}`, ttlMs })),
    ),
  )
  expect(fences.filter((fence) => fence !== null)).toEqual([1])
  await Promise.all(others.map(({ close }) => close()))
})

test('a lease goes to another holder after its release or its end, with a higher fence', async () => {
  const { first, second, take } = await twoProcesses()
  expect(await take(first, 'a')).toBe(1)
  expect(await take(first, 'a')).toBe(1)
  expect(await take(second, 'b')).toBeNull()
  expect(await first.write((tx) => releaseLease(tx, held('a', 1)))).toBe(true)
  expect(await take(second, 'b')).toBe(2)
  expect(await take(first, 'a')).toBeNull()
  await endAt(first, sql<number>`0`)
  expect(await take(first, 'a')).toBe(3)
})

test('a holder keeps its fence after the end of its lease, and cannot renew or release a lease that was taken', async () => {
  const { first, second, take } = await twoProcesses()
  await take(first, 'a')
  await endAt(second, sql<number>`0`)
  expect(await take(first, 'a')).toBe(1)
  await endAt(second, sql<number>`0`)
  expect(await take(second, 'b')).toBe(2)
  expect(await take(first, 'a')).toBeNull()
  expect(await first.write((tx) => releaseLease(tx, held('a', 1)))).toBe(false)
  expect(await take(first, 'c')).toBeNull()
})

test('a transaction of a holder whose lease was taken stores nothing', async () => {
  const { first, second, take } = await twoProcesses()
  const store = async (lease: HeldLease, value: string) =>
    await first.write(async (tx) => {
      await setMeta(tx, 'stored by', value)
      await requireLease(tx, lease)
    })
  await take(first, 'a')
  await store(held('a', 1), 'a')
  await endAt(second, sql<number>`0`)
  await take(second, 'b')
  await expect(store(held('a', 1), 'a again')).rejects.toThrow(LeaseLostError)
  await expect(requireLease(first.reader, held('a', 1))).rejects.toThrow(LeaseLostError)
  await requireLease(first.reader, held('b', 2))
  expect(await getMeta(first.reader, 'stored by')).toBe('a')
})

test('a lease that ends too far in the future, since the clock was set back, is free', async () => {
  const { first, second, take } = await twoProcesses()
  await take(first, 'a')
  await endAt(first, sql<number>`until + ${3_600_000}`)
  expect(await take(second, 'b')).toBe(2)
})

test('a lease of an ended process of this machine is free, that of another machine is not', async () => {
  const { first, second, take } = await twoProcesses()
  const mine = createHolder()
  expect(await take(first, endedHolder())).toBe(1)
  expect(await take(second, mine)).toBe(2)
  expect(await take(first, createHolder())).toBeNull()
  // An earlier process had the same number as this one.
  await endAt(first, sql<number>`0`)
  expect(await take(first, mine.replace(/ \d+ \S+$/, ' 0 earlier'))).toBe(3)
  expect(await take(second, mine)).toBe(4)
  await endAt(first, sql<number>`0`)
  expect(await take(first, endedHolder().replace('/', '/another'))).toBe(5)
  expect(await take(second, mine)).toBeNull()
})
