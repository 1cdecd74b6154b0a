import { describe, expect, test } from 'vitest'

import { memoizeByParts } from '../../builder/world/memoize-by-parts.ts'
import { fullWorld } from '../site/worlds.ts'

const world = fullWorld('https://ledger.test')
const later = { ...world, nowMs: world.nowMs + 1 }

describe('memoizeByParts', () => {
  test('memoizeByParts keeps the result while the declared parts are the same values', () => {
    const count = memoizeByParts(['rails'], ({ rails }) => ({ count: rails.length }))
    const first = count(world)
    expect(count(later)).toBe(first)
    expect(count({ ...world, rails: [...world.rails] })).not.toBe(first)
    expect(count({ ...world, rails: [] })).toEqual({ count: 0 })
  })

  test('memoizeByParts passes only the declared parts, so that a result cannot reference others', () => {
    const partsOf = memoizeByParts(['nowMs', 'site'], (parts) => () => parts)
    expect(partsOf(world)()).toEqual({ nowMs: world.nowMs, site: world.site })
    expect(partsOf(later)()).toEqual({ nowMs: later.nowMs, site: world.site })
  })

  test('memoizeByParts tries again after a failure', () => {
    let isBroken = true
    const read = memoizeByParts(['nowMs'], ({ nowMs }) => {
      if (isBroken) throw new Error('not now')
      return nowMs
    })
    expect(() => read(world)).toThrow('not now')
    isBroken = false
    expect(read(world)).toBe(world.nowMs)
  })
})
