import { readdirSync } from 'node:fs'

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import {
  StrictJsonError,
  parseStrictJson,
  parseStrictJsonText,
} from '../../src/core/strict-json.ts'
import { readVector, readVectors } from '../vectors/read.ts'

const files = readdirSync(new URL('../vectors/JSONTestSuite/test_parsing/', import.meta.url))

function parseFile(name: string): unknown {
  return parseStrictJson(readVector(`JSONTestSuite/test_parsing/${name}`))
}

describe('parseStrictJson on JSONTestSuite', () => {
  const mustParse = files.filter((name) => name.startsWith('y_'))
  const mustFail = files.filter((name) => name.startsWith('n_'))
  const either = files.filter((name) => name.startsWith('i_'))

  test('JSONTestSuite has 95 files that must parse, 188 that must not and 35 of either kind', () => {
    expect([mustParse.length, mustFail.length, either.length]).toEqual([95, 188, 35])
  })

  // RFC 8259 lets duplicates pass; RFC 7493 and this ledger do not.
  const duplicates = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json']

  test.each(mustParse.filter((name) => !duplicates.includes(name)))(
    'parses JSONTestSuite %s',
    (name) => {
      const text = readVector(`JSONTestSuite/test_parsing/${name}`).toString('utf8')
      expect(parseFile(name)).toEqual(JSON.parse(text))
    },
  )

  test.each(duplicates)('refuses %s of JSONTestSuite only for its duplicate name', (name) => {
    expect(() => parseFile(name)).toThrow(/^position \d+: duplicate name "a"/)
  })

  test.each(mustFail)('refuses %s of JSONTestSuite', (name) => {
    expect(() => parseFile(name)).toThrow(StrictJsonError)
  })

  test('parses only exact numbers of the JSONTestSuite files of either kind', () => {
    const parsed = either.filter((name) => {
      try {
        parseFile(name)
        return true
      } catch (error) {
        expect(error).toBeInstanceOf(StrictJsonError)
        return false
      }
    })
    expect(parsed).toEqual(['i_number_double_huge_neg_exp.json', 'i_number_real_underflow.json'])
  })

  test.each([
    'object_same_key_different_values.json',
    'object_same_key_same_value.json',
    'object_same_key_unclear_values.json',
    'number_9223372036854775807.json',
    'number_-9223372036854775808.json',
    'number_10000000000000000999.json',
    'string_1_escaped_invalid_codepoint.json',
    'string_1_invalid_codepoint.json',
    'string_2_invalid_codepoints.json',
    'string_3_escaped_invalid_codepoints.json',
  ])('test_transform/%s, which parsers read differently, is refused', (name) => {
    expect(() => parseStrictJson(readVector(`JSONTestSuite/test_transform/${name}`))).toThrow(
      StrictJsonError,
    )
  })

  test('parseStrictJson treats composed and decomposed names as two names', () => {
    const value = parseStrictJson(
      readVector('JSONTestSuite/test_transform/object_key_nfc_nfd.json'),
    )
    expect(Object.keys(z.record(z.string(), z.string()).parse(value))).toHaveLength(2)
  })
})

describe('parseStrictJson on invalid text', () => {
  const nested33 = '['.repeat(33) + ']'.repeat(33)
  const deepObject = '{"a":'.repeat(20_000)
  const deepArray = '['.repeat(20_000) + ']'.repeat(20_000)
  test.each([
    ['a duplicate name', '{"a":1,"b":2,"a":1}', /^position 13: duplicate name "a"; send each/],
    ['a duplicate name, once escaped', String.raw`{"a":1,"\u0061":2}`, /duplicate name "a"/],
    ['a duplicate name deep inside', '{"x":[{"y":{"a":1,"a":1}}]}', /duplicate name "a"/],
    ['a duplicate empty name', '{"":1,"":1}', /duplicate name ""/],
    ['a duplicate method name', '{"toString":1,"toString":2}', /duplicate name "toString"/],
    ['__proto__', '{"__proto__":{"polluted":1}}', /^position 1: the name "__proto__"/],
    ['__proto__ escaped', String.raw`{"\u005f_proto__":{"polluted":1}}`, /__proto__/],
    ['a lone surrogate', String.raw`"\ud83d"`, /lone surrogate.*escape both halves/],
    ['a lone surrogate in a name', String.raw`{"\ud83d":1}`, /lone surrogate/],
    ['an integer beyond 2^53-1', '9007199254740992', /beyond 2\^53-1; send it as a string/],
    ['a negative integer beyond', '-9007199254740992', /integer beyond/],
    ['a large integer with a fraction of zero', '9007199254740993.0', /integer beyond/],
    ['a large integer with an exponent', '9007199254740993e0', /integer beyond/],
    ['400 digits', '1'.repeat(400), /too large for a double/],
    ['1e400', '[1e400]', /^position 1: a number too large/],
    ['a byte order mark', '\uFEFF{}', /byte order mark/],
    ['an escape named like a method', String.raw`"\constructor"`, /escape that JSON does not have/],
    ['an escape with a sign', String.raw`"\u-001"`, /send .u and four hex digits/],
    ['nesting of 33', nested33, /^position 32: nested more than 32 levels deep/],
    ['20,000 brackets', deepArray, /nested more than 32/],
    ['20,000 objects', deepObject, /nested more than 32/],
  ])('parseStrictJson refuses %s', (_, text, message) => {
    expect(() => parseStrictJsonText(text)).toThrow(message)
    expect(() => parseStrictJson(Buffer.from(text))).toThrow(StrictJsonError)
  })

  test('a JSON error quotes at most the start of a name', () => {
    const name = 'n'.repeat(10_000)
    expect(() => parseStrictJsonText(`{"${name}":1,"${name}":2}`)).toThrow(
      expect.toSatisfy((error: StrictJsonError) => error.message.length < 200),
    )
  })
})

describe('parseStrictJson on valid text', () => {
  test("parseStrictJson accepts nesting of 32, or of the caller's limit", () => {
    expect(() => parseStrictJsonText('['.repeat(32) + ']'.repeat(32))).not.toThrow()
    expect(() => parseStrictJsonText('[[]]', { maxDepth: 1 })).toThrow(
      /nested more than 1 levels deep/,
    )
    const deep = '['.repeat(500) + ']'.repeat(500)
    expect(() => parseStrictJsonText(deep, { maxDepth: 500 })).not.toThrow()
  })

  test('parseStrictJson parses names of Object.prototype as ordinary members', () => {
    const value = parseStrictJsonText('{"constructor":{"prototype":{"polluted":1}},"toString":2}')
    expect(Object.keys(z.looseObject({}).parse(value))).toEqual(['constructor', 'toString'])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test('parseStrictJson parses the largest safe integers, -0 and numbers with exponents', () => {
    const text = '[9007199254740991,-9007199254740991,-0,1e21,1.5e-7,0.1]'
    expect(parseStrictJsonText(text)).toEqual(JSON.parse(text))
  })

  test('parseStrictJson accepts what JSON.stringify writes, with the result of JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        fc.pre(!text.includes('"__proto__"') && !hasBigInteger(value))
        expect(parseStrictJson(Buffer.from(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  test('parseStrictJson accepts only text that JSON.parse reads alike', () => {
    const words = ['"a"', '"b"', '.5', 'e3', 'true', 'null', '"\\n"']
    const pieces = fc.constantFrom(...'{}[],:-1 '.split(''), ...words)
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        let value: unknown
        try {
          value = parseStrictJsonText(text)
        } catch (error) {
          expect(error).toBeInstanceOf(StrictJsonError)
          return
        }
        expect(value).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('parseStrictJson round-trips every naughty string', () => {
    const strings = readVectors('naughty-strings/blns.json', z.array(z.string()))
    expect(strings).toHaveLength(515)
    expect(parseStrictJson(readVector('naughty-strings/blns.json'))).toEqual(strings)
  })
})

function hasBigInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(hasBigInteger)
}
