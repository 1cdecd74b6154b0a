/** Entries of the log. They contain hashes, so that a text can be erased while its entry remains verifiable. */
import { z } from 'zod'

import { canonicalize } from '../canonical-json.ts'
import { entriesOf } from '../entries.ts'

const utf8 = new TextEncoder()
const fromUtf8 = new TextDecoder()
const hash = z.string().regex(/^[0-9a-f]{64}$/)
const time = z.iso.datetime()
const index = z.int().min(0)
/** The length of an entry is stored in two bytes. */
const maxEntryBytes = 65_535

/** The input of `sha256`: the bytes of a document, or the canonical JSON of anything else. */
export const loggedText = {
  receipt: '`content` of `GET /api/v1/receipts/{id}`: the receipt with its signatures',
  check:
    '`onchain` of `GET /api/v1/receipts/{id}` with `receipt_id`, whenever it changes: the verdict on the payment',
  reputation: 'an entry of `GET /api/v1/reputation/{wallet}` without `seq`',
  poll: 'the bytes of the evidence bundle',
  history:
    'a poll of `GET /api/v1/rails/{name}/history` with `rail`, without members that are null; the id is the hash of its evidence bundle',
  snapshot: 'the bytes of `snapshot.json`',
  flag: 'a flag of `GET /api/v1/honesty/flags` when it opened, and with `closed_at` and `close_reason` when it closed',
  transition: 'an event `rail_transition` of `GET /api/v1/alerts/feed`',
  statement:
    'the bytes of `GET /api/v1/workers/{wallet}/statements/{month}`; the id is `{wallet}/{month}` and their SHA-256',
  dispute: 'a step of a dispute of `GET /api/v1/disputes`',
  article: 'the bytes of `/desk/{slug}.md`, whenever they change',
  platform: 'a platform of `GET /api/v1/platforms` without `revoked_index`, whenever it changes',
  archive: 'the id of the newest commit of the git archive, which is also the id of the entry',
  key: '`owner` and `public_key`, and `revoked_at` if the entry revokes the key; `GET /api/v1/platforms`, `/.well-known/signing-keys.json` and the workers list the keys',
} as const satisfies Readonly<Record<string, string>>

export const logEntryKind = z.enum(entriesOf(loggedText).map(([kind]) => kind))
export type LogEntryKind = keyof typeof loggedText

const common = {
  v: z.literal(1),
  /** Time at which the entry got its index; never before the time of its predecessor. */
  at: time,
  /** Occurs once for each kind. */
  id: z.string(),
  sha256: hash,
  /** A wallet, a rail or the owner of a key. */
  subject: z.string().optional(),
  /** The index of the last entry of the same kind and subject; null for the first one. */
  prev: index.nullable().optional(),
}

export const logEntry = z.discriminatedUnion('kind', [
  z.strictObject({
    ...common,
    kind: logEntryKind.exclude(['check', 'poll', 'snapshot', 'key']),
  }),
  z.strictObject({
    ...common,
    kind: z.literal('check'),
    block: z.strictObject({ number: z.int(), hash: z.string() }).optional(),
  }),
  z.strictObject({ ...common, kind: z.literal('poll'), outcome: z.enum(['ok', 'failed']) }),
  z.strictObject({ ...common, kind: z.literal('snapshot'), version: z.int() }),
  z.strictObject({ ...common, kind: z.literal('key'), event: z.enum(['activates', 'revokes']) }),
])
export type LogEntry = z.infer<typeof logEntry>

/** @throws RangeError for an entry that is too long */
export function entryBytes(entry: LogEntry): Uint8Array {
  const bytes = utf8.encode(canonicalize(entry))
  if (bytes.length > maxEntryBytes) throw new RangeError('the entry is too long for the log')
  return bytes
}

/** Null unless the bytes are the canonical form of an entry. */
export function parseEntry(bytes: Uint8Array): LogEntry | null {
  const text = fromUtf8.decode(bytes)
  try {
    const entry = logEntry.parse(JSON.parse(text))
    return canonicalize(entry) === text ? entry : null
  } catch {
    return null
  }
}

/** The text that the log signs to promise that an entry will be in the log by a time. */
export function promiseText(promised: {
  readonly origin: string
  readonly kind: LogEntryKind
  readonly id: string
  readonly sha256: string
  readonly by: string
}): string {
  const { origin, kind, id, sha256, by } = promised
  return `log-promise-v1\n${origin}\n${kind} ${id}\n${sha256}\n${by}\n`
}
