import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import {
  CanonicalJsonError,
  canonicalNumber,
  canonicalize,
  isJsonObject,
  prettySorted,
  zeroSignatureFields,
} from '../../src/core/canonical-json.ts'
import { parseStrictJson, parseStrictJsonText } from '../../src/core/strict-json.ts'
import { readVector } from '../vectors/read.ts'

test('isJsonObject is true for objects only', () => {
  expect([{}, { a: 1 }].map(isJsonObject)).toEqual([true, true])
  expect([null, undefined, [], [{}], '', 'a', 0, true].some(isJsonObject)).toBe(false)
})

describe('the published vectors of RFC 8785', () => {
  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])(
    'the RFC 8785 vector %s.json comes out byte for byte',
    (name) => {
      const value = parseStrictJson(readVector(`jcs/testdata/input/${name}.json`))
      const text = canonicalize(value)
      expect(text).toBe(readVector(`jcs/testdata/output/${name}.json`).toString('utf8'))
      const hex = readVector(`jcs/testdata/outhex/${name}.txt`).toString('utf8')
      expect(Buffer.from(text).toString('hex')).toBe(hex.replaceAll(/\s/g, ''))
    },
  )

  test('the first 10,000 numbers of the RFC 8785 sequence print as published', () => {
    const bytes = readVector('jcs/es6numbers-10000.txt')
    expect(createHash('sha256').update(bytes).digest('hex')).toMatch(/^b9f7a8e7/)
    const lines = bytes.toString('utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(10_000)
    const wrong = lines.filter((line) => {
      const [bits = '', expected] = line.split(',')
      const value = Buffer.from(bits.padStart(16, '0'), 'hex').readDoubleBE()
      return canonicalNumber(value) !== expected
    })
    expect(wrong).toEqual([])
  })
})

describe('canonicalize on unusual values', () => {
  const loop: { self?: unknown } = {}
  loop.self = { again: [loop] }
  const refused: ReadonlyArray<readonly [string, unknown]> = [
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['an integer beyond 2^53-1', 2 ** 53],
    ['a negative integer beyond 2^53-1', -(2 ** 53)],
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['a hole', Object.assign([1], { length: 3 })],
    ['a bigint', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['bytes', new Uint8Array(2)],
    ['a lone high surrogate', 'a\uD83D'],
    ['a lone low surrogate', '\uDE00a'],
    ['a lone surrogate in a name', { '\uD83D': 1 }],
    ['a cycle', loop],
  ]
  test.each(refused)('canonicalize refuses %s', (_, value) => {
    expect(() => canonicalize(value)).toThrow(CanonicalJsonError)
    expect(() => canonicalize({ inside: [value] })).toThrow(/^\.inside\[0\]/)
    expect(() => prettySorted(value)).toThrow(CanonicalJsonError)
  })

  test('canonicalize refuses endless nesting without a crash', () => {
    let value: unknown = 1
    for (let depth = 0; depth < 100_000; depth += 1) value = [value]
    expect(() => canonicalize(value)).toThrow(CanonicalJsonError)
  })

  test('canonicalize accepts one object in two places', () => {
    const shared = { a: 1 }
    expect(canonicalize([shared, shared])).toBe('[{"a":1},{"a":1}]')
  })
})

describe('canonicalize', () => {
  test('canonical JSON is independent of the order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.infiniteStream(fc.nat()), (value, picks) => {
        fc.pre(isCanonicalisable(value))
        expect(canonicalize(shuffled(value, picks))).toBe(canonicalize(value))
      }),
    )
  })

  test('canonical JSON parses back to itself, also from its pretty form', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        fc.pre(isCanonicalisable(value))
        const text = canonicalize(value)
        expect(canonicalize(parseStrictJsonText(text))).toBe(text)
        expect(canonicalize(parseStrictJsonText(prettySorted(value)))).toBe(text)
      }),
    )
  })
})

test('the pretty form has sorted names, two-space indentation and a final newline', () => {
  expect(prettySorted({ b: [], a: { d: {}, c: [1, 'x'] } })).toBe(
    '{\n  "a": {\n    "c": [\n      1,\n      "x"\n    ],\n    "d": {}\n  },\n  "b": []\n}\n',
  )
})

test('zeroSignatureFields empties present fields at the top level and adds none', () => {
  const body = {
    signature: '0xabc',
    worker_signature: null,
    platform_signature: 'x',
    oath_signature: 'y',
    nested: { signature: 'kept' },
  }
  expect(canonicalize(zeroSignatureFields(body))).toBe(
    '{"nested":{"signature":"kept"},"oath_signature":"","platform_signature":"","signature":"","worker_signature":""}',
  )
  expect(body.signature).toBe('0xabc')
  expect(canonicalize(zeroSignatureFields({ a: 1 }))).toBe('{"a":1}')
})

function isCanonicalisable(value: unknown): boolean {
  try {
    canonicalize(value)
    return !canonicalize(value).includes('"__proto__"')
  } catch {
    return false
  }
}

function shuffled(value: unknown, picks: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, picks))
  if (typeof value !== 'object' || value === null) return value
  const left = Object.entries(value)
  const members: Array<[string, unknown]> = []
  while (left.length > 0) {
    const pick = Number(picks.next().value) % left.length
    for (const [name, member] of left.splice(pick, 1)) members.push([name, shuffled(member, picks)])
  }
  return Object.fromEntries(members)
}
