/** Values for the schemas of an OpenAPI 3.0 document: mostly valid, at their bounds, and one beyond them. */
import fc from 'fast-check'
import { z } from 'zod'

import { readVectors } from '../../vectors/read.ts'
import { jsonText, memberText } from './json-text.ts'
import type { Change, Json } from './json-text.ts'

export const naughty = readVectors('naughty-strings/blns.json', z.array(z.string()))

const reference = z.object({ $ref: z.string() })
const described = z.looseObject({
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
export type ValuesOf = (schema: unknown, name?: string) => fc.Arbitrary<Json>

/** One of the alternatives, by weight. */
export const weighted = <T>(...alternatives: readonly (readonly [number, fc.Arbitrary<T>])[]) =>
  fc.oneof(...alternatives.map(([weight, arbitrary]) => ({ weight, arbitrary })))

export function valuesOf(schemas: Readonly<Record<string, unknown>>, known: Dictionary): ValuesOf {
  const of: ValuesOf = (schema, name = '') => {
    const named = reference.safeParse(schema)
    if (named.success) return of(schemas[named.data.$ref.split('/').at(-1) ?? ''], name)
    const own = described.parse(schema)
    const words = wordsFor(own, known[name] ?? [])
    if (own.anyOf !== undefined && words.length > 0) return fc.constantFrom(...words)
    if (own.anyOf !== undefined) return fc.oneof(...own.anyOf.map((form) => of(form, name)))
    if (own.type === 'object') return membersOf(own)
    if (own.type === 'array') return listOf(own, of(own.items, name))
    if (own.type === 'boolean') return fc.boolean()
    if (own.type === 'integer') return integerOf(own)
    if (own.type === 'number')
      return fc.constantFrom(0, 0.000001, 1, 12.5, 37.5, 999_999_999.999999)
    if (own.type !== 'string') return fc.constant(null)
    return words.length === 0
      ? stringOf(own)
      : weighted([24, fc.constantFrom(...words)], [1, stringOf(own)])
  }
  const membersOf = ({ properties = {}, required = [], additionalProperties }: Described) => {
    const own = Object.entries(properties).map(
      ([name, schema]) => [name, of(schema, name)] as const,
    )
    const requiredKeys = required.filter((name) => name in properties)
    const record = fc.record<Record<string, Json>>(Object.fromEntries(own), { requiredKeys })
    if (typeof additionalProperties !== 'object') return record
    const more = fc.dictionary(fc.string({ maxLength: 8 }), of(additionalProperties), {
      maxKeys: 3,
    })
    return fc.tuple(more, record).map(([others, members]) => ({ ...others, ...members }))
  }
  return of
}

/** Words that match the pattern, and marks for signatures and times. */
function wordsFor({ pattern }: Described, words: readonly string[]): readonly string[] {
  if (pattern === undefined) return words
  return words.filter((word) => new RegExp(pattern).test(word) || word.startsWith('@'))
}

function listOf({ maxItems = 50 }: Described, item: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return weighted<Json>(
    [12, fc.uniqueArray(item, { minLength: 1, maxLength: 3, selector: (own) => jsonText(own) })],
    [1, fc.array(item, { minLength: maxItems, maxLength: maxItems + 1 })],
  )
}

function integerOf({ minimum = 0, maximum = 100 }: Described): fc.Arbitrary<number> {
  const beyond = [minimum, maximum, minimum - 1, maximum + 1, minimum + 0.5]
  return weighted([24, fc.integer({ min: minimum, max: maximum })], [1, fc.constantFrom(...beyond)])
}

const textsByFormat: Dictionary = {
  'date-time': ['2026-11-21T05:59:00.000Z', '2026-12-01T00:00:00Z', '2020-02-30T00:00:00Z'],
  email: ['a@ledger.test', 'a@b.example', `${'a'.repeat(243)}@b.example`],
}

function stringOf(schema: Described): fc.Arbitrary<string> {
  const { pattern, format = '', minLength = 0, maxLength = 200 } = schema
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (pattern !== undefined) {
    return weighted([24, fc.stringMatching(new RegExp(pattern))], [1, hostileString])
  }
  const texts = textsByFormat[format]
  if (texts !== undefined) return fc.constantFrom(...texts)
  if (format === 'uri') {
    return weighted([4, fc.constant('https://ledger.example/work')], [1, fc.constantFrom(...urls)])
  }
  const bounds = [maxLength, maxLength + 1, minLength, Math.max(0, minLength - 1)]
  return weighted(
    [20, fc.constantFrom('One line.', 'Zwölf Boxkämpfer', 'x', '東京 🤖')],
    [1, fc.string({ unit: 'grapheme', maxLength: 60 })],
    [3, fc.constantFrom(...naughty)],
    [1, fc.constantFrom(...bounds.map((length) => 'a'.repeat(length)))],
    [1, fc.constantFrom(...bounds.map((length) => '\u{1F916}'.repeat(length / 2)))],
  )
}

const urls = [
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

/** Names with a meaning in JavaScript or in this API. */
const wordLike =
  '__proto__ constructor prototype toString hasOwnProperty toJSON then $ref a.b length valueOf 0 wallet signature id'
const strangeNames = fc.constantFrom(...wordLike.split(' '), '', ' ', '\u0000')

export const hostileString: fc.Arbitrary<string> = weighted(
  [5, fc.constantFrom(...naughty)],
  [2, strangeNames],
  [1, fc.string({ unit: 'binary', maxLength: 40 })],
  [1, fc.constantFrom('a'.repeat(20_000), `0x${'0'.repeat(40)}`, `0X${'AB'.repeat(20)}`)],
  [1, fc.constantFrom('\uFEFFx', '\u202Etxt.exe', '2026-13-45T99:99:99Z', '9'.repeat(400))],
)

const nested = (depth: number, open: string, close: string): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`

/** The text of a value of the wrong kind, size or spelling. */
const hostileText: fc.Arbitrary<string> = fc.oneof(
  hostileString.map((text) => JSON.stringify(text)),
  fc.json(),
  fc.constantFrom(
    ...'null true -1 0 -0 01 1e400 1.5e-9 9007199254740993 NaN undefined [] {}'.split(' '),
    '{"toString":1,"valueOf":null}',
    '{"__proto__":{"isAdmin":true}}',
    '{"constructor":{"prototype":{"isAdmin":true}}}',
    '"a\nb"',
    "'single'",
    ...['ud800', 'udc00\\ud800', 'u0000', 'x41'].map((escape) => `"\\${escape}"`),
    ...[31, 33, 20_000].map((depth) => nested(depth, '[', ']')),
    nested(5000, '{"a":', '}'),
    `[${'0,'.repeat(3000)}0]`,
  ),
)

type Apply = Change['apply']
const apply: fc.Arbitrary<Apply> = weighted<Apply>(
  [3, hostileText.map((by) => (_, name) => memberText(name, by))],
  [
    3,
    fc.constantFrom<Apply>(
      () => '',
      (text, name) => `${memberText(name, text)},${memberText(name, text)}`,
      (text, name) => memberText(name, `[${text}]`),
      (text, name) => memberText(name, JSON.stringify(text)),
    ),
  ],
  [2, strangeNames.map((other) => (text, name) => memberText(name === null ? null : other, text))],
  [
    2,
    fc.tuple(strangeNames, hostileText).map(([other, by]) => (text, name) => {
      const more = text.startsWith('{') ? memberText(other, by) : by
      const isEmpty = text.length === 2
      const isList = /^[[{]/.test(text)
      return memberText(
        name,
        isList ? `${text.slice(0, -1)}${isEmpty ? '' : ','}${more}${text.at(-1)}` : by,
      )
    }),
  ],
)
const change: fc.Arbitrary<Change> = fc.record({ at: fc.nat({ max: 200 }), apply })

/** Mostly no change or one: a request with a single flaw passes the most checks. */
export const changes: fc.Arbitrary<readonly Change[]> = weighted<readonly Change[]>(
  [5, fc.constant([])],
  [5, fc.array(change, { minLength: 1, maxLength: 1 })],
  [1, fc.array(change, { minLength: 2, maxLength: 4 })],
)
