import { expect, test } from 'vitest'

import { remembering } from '../../builder/remembering.ts'

const world = { rails: ['x402'], receipts: 1, nowMs: 5 }

test('what was made is given again while what it read is the same, whatever else is another', () => {
  const railsOf = remembering(({ rails }: typeof world) => ({ count: rails.length }))
  const first = railsOf(world)
  expect(railsOf({ ...world, receipts: 2, nowMs: 6 })).toBe(first)
  expect(railsOf({ ...world, rails: ['x402', 'pact'] })).toEqual({ count: 2 })
  expect(railsOf({ ...world, rails: [] })).toEqual({ count: 0 })
})

test('what is read by a copy of all, or later, counts too', () => {
  const copied = remembering((input: typeof world) => ({ ...input }))
  expect(copied(world)).toEqual(world)
  expect(copied({ ...world, nowMs: 6 })).toEqual({ ...world, nowMs: 6 })

  const later = remembering((input: typeof world) => () => input.receipts)
  const asked = later(world)
  expect(asked()).toBe(1)
  expect(later({ ...world, receipts: 2 })()).toBe(2)
})

test('what could not be made is tried again', () => {
  let isBroken = true
  const made = remembering(({ receipts }: typeof world) => {
    if (isBroken) throw new Error('not now')
    return { receipts }
  })
  expect(() => made(world)).toThrow('not now')
  isBroken = false
  expect(made(world)).toEqual({ receipts: 1 })
})
