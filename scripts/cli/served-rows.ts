/** The rows that the published lists show, each with the entry of the log that it must have. */
import { execFileSync } from 'node:child_process'

import { pollHash, shownPolls } from '../../builder/documents/history.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { sendGet } from '../../src/client/transport.ts'
import { pathOf } from '../../src/contract/routes.ts'
import { canonicalize, isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../../src/core/canonical-json.ts'
import { MANIFEST_PATH } from '../../src/core/documents.ts'
import { present } from '../../src/core/entries.ts'
import { strictJsonOrNull } from '../../src/core/strict-json.ts'
import type { LogEntry, LogEntryKind } from '../../src/core/tlog/entry.ts'
import { walletOrNull } from '../../src/core/wallet.ts'
import type { Session } from './session.ts'

export interface ServedRow {
  readonly kind: LogEntryKind
  /** The first word of the id of its entries. */
  readonly key: string
  readonly sha256: string
  readonly name: string
  readonly timeMs?: number | null
  /** True for a commit, if the entry of a later one covers it. */
  readonly mayLack?: boolean
}

type Json = JsonValue | undefined
const objectOf = (value: JsonValue = null): JsonObject => (isJsonObject(value) ? value : {})
const textOf = (value: Json): string => (typeof value === 'string' ? value : '')
/** 1970 for anything but a time. */
const msOf = (value: Json): number => Date.parse(textOf(value)) || 0
const idOf = (wallet: Json): string => walletOrNull(textOf(wallet))?.id ?? ''

type More = Partial<Pick<ServedRow, 'name' | 'timeMs' | 'mayLack'>>
/** @param row its published form, or the SHA-256 */
function rowOf(kind: LogEntryKind, key: string, row: object | string, more: More = {}): ServedRow {
  const sha256 = typeof row === 'string' ? row : sha256Hex(canonicalize(row))
  return { kind, key, sha256, name: key, ...more }
}

/** @param archive a clone of the git archive */
export function servedRows(session: Session, archive?: string) {
  /** By rail, the time of the oldest poll that a full list shows. */
  const shownFrom = new Map<string, number>()
  const bytesOf = async (path: string) =>
    (await sendGet(session, `${siteUrlOf(session.ledger)}${path}`)).bytes
  const read = async (path: string) => objectOf(strictJsonOrNull(await bytesOf(path)))

  async function* pages(path: string, member: string): AsyncGenerator<JsonObject> {
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await read(`${path}limit=200${cursor}`)
      yield* rowsIn(page, member)
      const next = textOf(page['next_cursor'])
      cursor = next === '' ? null : `&cursor=${encodeURIComponent(next)}`
    }
  }

  async function* polls(rail: string): AsyncGenerator<ServedRow> {
    const rows = rowsIn(await read(pathOf('getRailHistory', { name: rail })), 'polls')
    if (rows.length >= shownPolls) shownFrom.set(rail, msOf(rows.at(-1)?.['polled_at']))
    for (const row of rows) {
      const bundle = /[0-9a-f]{64}/.exec(textOf(row['evidence_uri']))?.[0] ?? ''
      const name = `of ${rail} at ${textOf(row['polled_at'])}`
      const more = { name, timeMs: msOf(row['polled_at']) }
      yield rowOf('poll', bundle, bundle, more)
      yield rowOf('history', bundle, pollHash(rail, row), more)
    }
  }

  async function* authored(): AsyncGenerator<ServedRow> {
    const list = await read(pathOf('listPlatforms'))
    for (const { revoked_index: _, ...row } of rowsIn(list, 'platforms')) {
      const platform = textOf(row['platform'])
      yield rowOf('platform', platform, row)
      yield keyRow(platform, row['public_key'], row['revoked_at'])
    }
    const issuer = objectOf(list['receipts_by'])
    for (const { public_key: key } of [issuer, ...rowsIn(issuer, 'retired', [])])
      yield keyRow(textOf(issuer['platform']), key)
    for (const key of rowsIn(await read(pathOf('getSigningKeys')), 'keys'))
      yield keyRow('service', key['public_key'])
    for (const { slug, date } of rowsIn(await read(pathOf('getDeskFeed')), 'articles')) {
      const text = await bytesOf(pathOf('getDeskArticle', { slug: textOf(slug) }))
      yield rowOf('article', textOf(slug), sha256Hex(text), { timeMs: msOf(date) })
    }
  }

  return {
    /** Returns true for an entry of a poll that is older than the list shows. */
    isCut: ({ kind, at, subject = '' }: LogEntry) =>
      ['poll', 'history'].includes(kind) && Date.parse(at) < (shownFrom.get(subject) ?? 0),
    read: async function* (this: void): AsyncGenerator<ServedRow> {
      yield rowOf('snapshot', 'snapshot', sha256Hex(await bytesOf(MANIFEST_PATH)))
      for (const { rail } of rowsIn(await read(pathOf('listRails')), 'rails'))
        yield* polls(textOf(rail))
      for (const flag of rowsIn(await read(pathOf('listHonestyFlags')), 'flags'))
        yield rowOf('flag', textOf(flag['id']), flag, { timeMs: msOf(flag['opened_at']) })
      yield* authored()
      for await (const worker of pages(`${pathOf('listWorkers')}?`, 'workers'))
        if (worker['receipt_key'] !== undefined)
          yield keyRow(idOf(worker['wallet']), worker['receipt_key'])
      for await (const dispute of pages(`${pathOf('listDisputes')}?`, 'disputes'))
        yield* disputeRows(dispute)
      for await (const receipt of pages(`${pathOf('listReceipts')}?content=true&`, 'receipts'))
        yield* receiptRows(receipt)
      if (archive === undefined) return
      const ids = execFileSync('git', ['-C', archive, 'rev-list', 'HEAD'], { encoding: 'utf8' })
      for (const [at, id] of ids.trim().split('\n').entries())
        yield rowOf('archive', id, sha256Hex(id), { mayLack: at > 0 })
    },
  }
}

function rowsIn(list: JsonObject, member: string, absent: JsonValue = null) {
  const value = list[member] ?? absent
  const rows: readonly JsonValue[] = Array.isArray(value) ? value : [value]
  if (rows.every((row) => isJsonObject(row))) return rows
  throw new UnexpectedAnswerError(`an answer has no list ${member}`)
}

function keyRow(owner: string, key: Json, revokedAt?: Json): ServedRow {
  const record = { owner, public_key: key ?? null }
  const id = sha256Hex(canonicalize(record))
  const revoked = revokedAt === undefined ? id : { ...record, revoked_at: revokedAt }
  return rowOf('key', id, revoked, { name: `of ${owner}` })
}

/** The first step must have the claim that the dispute shows, and the last step its state. */
function disputeRows(dispute: JsonObject): readonly ServedRow[] {
  const { claim, state, wallet, target, figure, evidence_url } = dispute
  const steps = rowsIn(dispute, 'steps')
  const first = present({ text: claim, wallet, target, figure, evidence_url })
  const last = state === 'open' ? {} : { event: state }
  return steps.map((step, at) => {
    const shown = { ...step, ...(at === 0 ? first : {}), ...(steps[at + 1] ? {} : last) }
    return rowOf('dispute', textOf(step['step_id']), shown, { timeMs: msOf(step['at']) })
  })
}

/** A member that differs from the signed content replaces it, so that the hash differs. */
function* receiptRows(receipt: JsonObject): Generator<ServedRow> {
  const id = textOf(receipt['receipt_id'])
  const members = Object.entries(objectOf(receipt['content'])).map(([name, signed]) => {
    const shown = receipt[name] ?? signed
    return [name, factOf(name, shown) === factOf(name, signed) ? signed : shown] as const
  })
  const timeMs = msOf(receipt['accepted_at'])
  yield rowOf('receipt', id, Object.fromEntries(members), { timeMs })
  const verdict = objectOf(receipt['onchain'])
  if ((verdict['verdict'] ?? 'unchecked') !== 'unchecked')
    yield rowOf('check', id, { receipt_id: id, ...verdict })
}

/** In the form in which a list and a signed receipt agree. */
function factOf(name: string, value: JsonValue): JsonValue {
  if (name === 'amount_usdc') return Number(value)
  if (name === 'occurred_at') return msOf(value)
  return name.endsWith('_wallet') ? idOf(value) : value
}
