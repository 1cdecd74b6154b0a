/** Values for the schemas of an OpenAPI 3.0 document: mostly valid, at their bounds, and one beyond them. */
import fc from 'fast-check'
import { z } from 'zod'

import { readVectors } from '../../vectors/read.ts'
import { jsonText, object } from './json-text.ts'
import type { Change, JsonText } from './json-text.ts'

export const naughty = readVectors('naughty-strings/blns.json', z.array(z.string()))

const reference = z.object({ $ref: z.string() })
export const described = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  pattern: z.string().optional(),
  format: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxItems: z.number().optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
})
type Described = z.infer<typeof described>

/** Valid values by the name of their field: existing ids, and wallets whose keys the test has. */
export type Dictionary = Readonly<Record<string, readonly string[]>>

export interface Values {
  readonly of: (schema: unknown, name?: string) => fc.Arbitrary<JsonText>
}

export function valuesOf(schemas: Readonly<Record<string, unknown>>, known: Dictionary): Values {
  const of = (schema: unknown, name = ''): fc.Arbitrary<JsonText> => {
    const named = reference.safeParse(schema)
    if (named.success) return of(schemas[named.data.$ref.split('/').at(-1) ?? ''], name)
    const own = described.parse(schema)
    const words = wordsFor(own, known[name] ?? [])
    if (own.anyOf !== undefined && words.length > 0) return fc.constantFrom(...words)
    if (own.anyOf !== undefined) return fc.oneof(...own.anyOf.map((form) => of(form, name)))
    switch (own.type ?? 'nothing') {
      case 'object':
        return membersOf(own)
      case 'array':
        return fc.oneof(
          {
            weight: 12,
            arbitrary: fc.uniqueArray(of(own.items, name), {
              minLength: 1,
              maxLength: 3,
              selector: jsonText,
            }),
          },
          {
            weight: 1,
            arbitrary: fc.array(of(own.items, name), {
              minLength: own.maxItems ?? 50,
              maxLength: (own.maxItems ?? 50) + 1,
            }),
          },
        )
      case 'boolean':
        return fc.boolean()
      case 'integer':
        return integerOf(own)
      case 'number':
        return fc.constantFrom(0, 0.000001, 1, 12.5, 37.5, 999_999_999.999999, 1e9)
      case 'string':
        return words.length === 0 ? stringOf(own) : mostly(fc.constantFrom(...words), stringOf(own))
      default:
        return fc.constant(null)
    }
  }

  const membersOf = ({ properties = {}, required = [], additionalProperties }: Described) => {
    const own = Object.entries(properties).map(([name, schema]) => {
      const value = of(schema, name)
      return [name, required.includes(name) ? value : fc.option(value, { nil: undefined })] as const
    })
    const more =
      typeof additionalProperties === 'object'
        ? fc.dictionary(fc.string({ maxLength: 8 }), of(additionalProperties), { maxKeys: 3 })
        : fc.constant({})
    return fc.tuple(fc.record(Object.fromEntries(own)), more).map(([members, others]) => {
      const all: Record<string, JsonText> = { ...others }
      for (const [name, value] of Object.entries(members)) {
        if (value !== undefined) all[name] = value
      }
      return object(all)
    })
  }
  return { of }
}

/** Words that match the pattern, and marks for signatures and times. */
function wordsFor({ pattern }: Described, words: readonly string[]): readonly string[] {
  return pattern === undefined
    ? words
    : words.filter((word) => new RegExp(pattern).test(word) || word.startsWith('@'))
}

const mostly = <A, B>(usual: fc.Arbitrary<A>, other: fc.Arbitrary<B>) =>
  fc.oneof({ weight: 24, arbitrary: usual }, { weight: 1, arbitrary: other })

function integerOf({ minimum = 0, maximum = 100 }: Described): fc.Arbitrary<number> {
  return mostly(
    fc.integer({ min: minimum, max: maximum }),
    fc.constantFrom(minimum, maximum, minimum - 1, maximum + 1, minimum + 0.5),
  )
}

function stringOf(schema: Described): fc.Arbitrary<string> {
  const { pattern, format, minLength = 0, maxLength = 200 } = schema
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (pattern !== undefined) return mostly(fc.stringMatching(new RegExp(pattern)), hostileString)
  if (format === 'date-time') {
    return fc.constantFrom(
      '2026-11-21T05:59:00.000Z',
      '2026-12-01T00:00:00Z',
      '2020-02-30T00:00:00Z',
    )
  }
  if (format === 'uri') {
    return fc.oneof(
      { weight: 4, arbitrary: fc.constant('https://ledger.example/work') },
      { weight: 1, arbitrary: fc.constantFrom(...urls) },
    )
  }
  if (format === 'email') {
    return fc.constantFrom('a@ledger.test', 'a@b.example', `${'a'.repeat(243)}@b.example`)
  }
  return fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('One line.', 'Zwölf Boxkämpfer', 'x', '東京 🤖') },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
    { weight: 3, arbitrary: fc.constantFrom(...naughty) },
    { weight: 1, arbitrary: fc.constantFrom(...atBounds(minLength, maxLength)) },
  )
}

function atBounds(minLength: number, maxLength: number): readonly string[] {
  return [maxLength, maxLength + 1, minLength, Math.max(0, minLength - 1)].flatMap((length) => [
    'a'.repeat(length),
    '\u{1F916}'.repeat(length / 2),
  ])
}

const urls = [
  'https://ledger.example/work',
  'https://hooks.example.com/alerts',
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://user:pass@ledger.example/',
  'https://ledger.example:8443/',
  'https://localhost/',
  'https://169.254.169.254/latest/meta-data',
  'https://2130706433/',
  'https://ledger.example/\\..\\x',
  'http://ledger.example/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  `https://ledger.example/${'a'.repeat(2020)}`,
] as const

/** Names with a meaning in JavaScript. */
const strangeNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'toJSON',
  'then',
  '',
  ' ',
  '$ref',
  'a.b',
  'length',
  'valueOf',
  '0',
  '\u0000',
  'wallet',
  'signature',
  'id',
] as const

export const hostileString: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...naughty) },
  { weight: 2, arbitrary: fc.constantFrom(...strangeNames) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'a'.repeat(20_000),
      `0x${'0'.repeat(40)}`,
      `0X${'AB'.repeat(20)}`,
      '\uFEFFx',
      '\u202Etxt.exe',
      '2026-13-45T99:99:99Z',
      '9'.repeat(400),
    ),
  },
)

const deep = (depth: number, open: string, close: string): JsonText => ({
  literal: `${open.repeat(depth)}${close.repeat(depth)}`,
})

/** A value of the wrong kind, size or spelling. */
export const hostileValue: fc.Arbitrary<JsonText> = fc.oneof(
  hostileString,
  fc.constantFrom<JsonText>(
    null,
    true,
    -1,
    0,
    2 ** 53,
    1e21,
    1.5e-9,
    [],
    object({}),
    object({ toString: 1, valueOf: null }),
    { members: [['__proto__', object({ isAdmin: true })]] },
    { members: [['constructor', object({ prototype: object({ isAdmin: true }) })]] },
    { literal: '1e400' },
    { literal: '-0' },
    { literal: '01' },
    { literal: 'NaN' },
    { literal: '9007199254740993' },
    { literal: String.raw`"\ud800"` },
    { literal: String.raw`"\udc00\ud800"` },
    { literal: String.raw`"\u0000"` },
    { literal: String.raw`"\x41"` },
    { literal: "'single'" },
    { literal: '"a\nb"' },
    { literal: 'undefined' },
    deep(31, '[', ']'),
    deep(33, '[', ']'),
    deep(20_000, '[', ']'),
    { literal: `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}` },
    Array.from({ length: 3000 }, () => 0),
  ),
)

const place = fc.nat({ max: 200 })
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ at: place, kind: fc.constant('replace' as const), by: hostileValue }),
  fc.record({ at: place, kind: fc.constantFrom('remove', 'repeat', 'wrap', 'text') }),
  fc.record({
    at: place,
    kind: fc.constant('add' as const),
    name: fc.constantFrom(...strangeNames),
    by: hostileValue,
  }),
  fc.record({
    at: place,
    kind: fc.constant('rename' as const),
    name: fc.constantFrom(...strangeNames),
  }),
)

/** Mostly no change or one: a request with a single flaw passes the most checks. */
export const changes: fc.Arbitrary<readonly Change[]> = fc.oneof(
  { weight: 5, arbitrary: fc.constant([]) },
  { weight: 5, arbitrary: fc.array(change, { minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.array(change, { minLength: 2, maxLength: 4 }) },
)
