/** Evidence of a poll: a bundle and the documents that it names by their SHA-256. The figures follow from them. */
import { sha256 } from '@noble/hashes/sha2'
import { bytesToHex } from '@noble/hashes/utils'
import { z } from 'zod'

export function evidencePath(digest: string): string {
  return `/evidence/${digest}.json`
}

function digestOf(text: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(text)))
}

const digest = z.string().regex(/^[0-9a-f]{64}$/)
const lists = z.record(z.string(), digest)
const block = z.object({ number: z.int(), hash: z.string().nullable() })
const logMembers = z.object({
  chain: z.string(),
  count: z.int(),
  rows_digest: digest,
  /** Null in older bundles, if the lines were long. */
  rows: digest.nullable(),
  remembered: digest.nullish(),
  lists,
  at: z.string(),
})
const blockInput = logMembers.extend({ from: block, to: block })
const logInput = z.union([blockInput, logMembers.extend({ wallet: z.string() })])
const answerInput = z.object({
  url: z.string(),
  read_from: z.string(),
  overridden: z.boolean(),
  sha256: digest,
  bytes: z.int(),
  kept_until: z.string().nullish(),
  rows_digest: z.never().optional(),
})
const price = z.object({
  feed: z.string(),
  block: z.int(),
  answer: z.string().nullable(),
  latest: z.boolean().optional(),
})

/** Which transfers look-ups read: those into and out of these wallets in some blocks. */
export const lookUpReading = z.object({
  chain: z.string(),
  wallets: digest,
  from: z.int(),
  to: z.int(),
  /** The head at the time `at`, from which the times of the lines follow. */
  head: z.int(),
  count: z.int(),
  rows_digest: digest,
  /** Null if there were too many. */
  rows: digest.nullable(),
  at: z.string(),
})

export type LookUpReading = z.infer<typeof lookUpReading>
export type BlockInput = z.infer<typeof blockInput>
/** What a poll read from a chain: blocks, or transactions of a Solana wallet. */
export type LogInput = z.infer<typeof logInput>
export type AnswerInput = z.infer<typeof answerInput>
export type PriceInput = z.infer<typeof price>

const status = { status: z.string(), undecidedSinceMs: z.number().nullable() }
const flags = z.object({
  raised: z.array(z.looseObject({ kind: z.string() })),
  cleared: z.array(z.string()),
})

/** The part of a bundle that a check reads. Older bundles lack the optional members. */
export const checkedBundle = z.looseObject({
  v: z.int(),
  rail: z.string(),
  at: z.string(),
  outcome: z.enum(['ok', 'failed']),
  rule: z.string(),
  code: z.object({ version: z.string() }),
  window: z.object({ from: z.string(), to: z.string() }),
  previous: digest.nullable(),
  inputs: z.array(z.union([logInput, answerInput])),
  lists,
  look_ups: digest.nullish(),
  prices: z.array(price),
  buckets: digest.nullable(),
  figures: z.record(z.string(), z.number().nullable()).nullable(),
  counters: z.record(z.string(), z.number()),
  basis: z.enum(['payments', 'activity']),
  former: z.object(status).nullable(),
  status: z.string(),
  undecidedSinceMs: z.number().nullish(),
  flags: flags.optional(),
})
export type Bundle = z.infer<typeof checkedBundle>

export function isLogInput(input: AnswerInput | LogInput): input is LogInput {
  return 'rows_digest' in input
}

const partLength = 64 * 1024
const maxPartLength = 4 * partLength

/**
 * Encodes a value as JSON with tags for maps, sets and big integers. Splits a long list into separate documents at
 * content-defined boundaries, so that most of them are the same in the next poll.
 */
export function pack(value: unknown, keep: (text: string) => string): string {
  const inner = (member: unknown): string => pack(member, keep)
  if (typeof value === 'bigint') return `{"$bigint":"${value}"}`
  if (value instanceof Map) return `{"$map":${inner([...value])}}`
  if (value instanceof Set) return `{"$set":${inner([...value])}}`
  if (Array.isArray(value)) return packList(value.map(inner), keep)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${inner(member)}`).join(',')}}`
}

function packList(items: readonly string[], keep: (text: string) => string): string {
  const whole = `[${items.join(',')}]`
  if (whole.length <= partLength) return whole
  const parts: string[] = []
  let part = ''
  for (const [at, item] of items.entries()) {
    part += `${part === '' ? '[' : ','}${item}`
    const mayCut = part.length >= partLength
    const isCut = mayCut && (part.length >= maxPartLength || /^[01]/.test(digestOf(item)))
    if (!isCut && at < items.length - 1) continue
    parts.push(keep(`${part}]`))
    part = ''
  }
  return JSON.stringify({ $parts: parts })
}

/** Digests of the documents into which the lists of this one were split. */
export function partsOf(text: string): readonly string[] {
  const lists = [...text.matchAll(/"\$parts":\[([^\]]*)\]/g)].map(([list]) => list).join()
  return lists.match(/[0-9a-f]{64}/g) ?? []
}

const pairs = z.array(z.tuple([z.unknown(), z.unknown()]))

/** Reverses `pack`. */
export function unpack(text: string, documents: Pick<ReadonlyMap<string, string>, 'get'>): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value
    if ('$bigint' in value) return BigInt(String(value.$bigint))
    if ('$map' in value) return new Map(pairs.parse(value.$map))
    if ('$set' in value && Array.isArray(value.$set)) return new Set(value.$set)
    if (!('$parts' in value) || !Array.isArray(value.$parts)) return value
    return value.$parts.flatMap((part) => unpack(documents.get(String(part)) ?? '', documents))
  })
}

/** A value as lines, for comparison, without the members of these names. */
export function linesOfValue(value: unknown, hidden: readonly string[] = []): readonly string[] {
  const plain = (name: string, member: unknown) => {
    if (hidden.includes(name)) return undefined
    if (typeof member === 'bigint') return String(member)
    return member instanceof Map || member instanceof Set ? [...member] : member
  }
  return (JSON.stringify(value, plain, 1) ?? 'nothing').split('\n')
}

/** Describes the first line that differs; null if none does. */
export function firstDifference(
  published: readonly string[],
  found: readonly string[],
): string | null {
  const at = [...published, ...found].findIndex((_, at) => published[at] !== found[at])
  const lineOf = (lines: readonly string[]) => lines[at]?.trim() ?? 'nothing'
  return at === -1 ? null : `published ${lineOf(published)}, recomputed ${lineOf(found)}`
}
