import { setImmediate } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { memoizeByReads } from '../../builder/cache/memoize.ts'
import { createCollector } from '../support/collect.ts'

const world = { rails: ['x402'], receipts: 1, nowMs: 5 }

test('what was made is given again while what it read is the same, whatever else is another', () => {
  const railsOf = memoizeByReads(({ rails }: typeof world) => ({ count: rails.length }))
  const first = railsOf(world)
  expect(railsOf({ ...world, receipts: 2, nowMs: 6 })).toBe(first)
  expect(railsOf({ ...world, rails: ['x402', 'pact'] })).toEqual({ count: 2 })
  expect(railsOf({ ...world, rails: [] })).toEqual({ count: 0 })
})

test('what is read by a copy of all, or later, counts too', () => {
  const copied = memoizeByReads((input: typeof world) => ({ ...input }))
  expect(copied(world)).toEqual(world)
  expect(copied({ ...world, nowMs: 6 })).toEqual({ ...world, nowMs: 6 })

  const later = memoizeByReads((input: typeof world) => () => input.receipts)
  const asked = later(world)
  expect(asked()).toBe(1)
  expect(later({ ...world, receipts: 2 })()).toBe(2)
})

test('what could not be made is tried again', () => {
  let isBroken = true
  const made = memoizeByReads(({ receipts }: typeof world) => {
    if (isBroken) throw new Error('not now')
    return { receipts }
  })
  expect(() => made(world)).toThrow('not now')
  isBroken = false
  expect(made(world)).toEqual({ receipts: 1 })
})

test('an input whose place another has taken is held no more, though what was made may read on', async () => {
  interface Input {
    readonly rails: readonly string[]
    readonly receipts: { readonly newest: string }
  }
  const rails = ['x402']
  const later = memoizeByReads((input: Input) => ({ rails: input.rails, world: () => input }))
  const made = (newest: string) => {
    const receipts = { newest }
    return { page: later({ rails, receipts }), receipts: new WeakRef(receipts) }
  }
  const first = made('first')
  const second = made('second')
  expect(second.page).toBe(first.page)
  // What a WeakRef refers to is kept until the turn of the event loop in which it was made has ended.
  await setImmediate()
  createCollector()()
  expect(first.receipts.deref()).toBeUndefined()
  expect(first.page.world().receipts).toBe(second.receipts.deref())
  expect({ ...first.page.world() }).toEqual({ rails, receipts: { newest: 'second' } })
  expect('receipts' in first.page.world()).toBe(true)
})
