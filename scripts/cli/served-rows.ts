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
import type { LogEntryKind } from '../../src/core/tlog/entry.ts'
import { walletOrNull } from '../../src/core/wallet.ts'
import type { Session } from './session.ts'

type Json = JsonValue | undefined

export interface ServedRow {
  readonly kind: LogEntryKind
  /** The first word of the id of its entries. */
  readonly key: string
  readonly sha256: string
  readonly name: string
  readonly timeMs?: number | undefined
  /** True for a step of a dispute that is served with its hash instead of its text. */
  readonly isWithheld?: boolean
  /** True for a commit, if the entry of a later one covers it. */
  readonly mayLack?: boolean | undefined
  /** The subject whose list is full, for its oldest row: entries before those of this row have no rows. */
  readonly endOf?: string | undefined
  /** The index that the row states for its entry; null before the row has one. */
  readonly index?: Json
}

const objectOf = (value: JsonValue = null): JsonObject => (isJsonObject(value) ? value : {})
const textOf = (value: Json): string => (typeof value === 'string' ? value : '')
/** 1970 for anything but a time. */
const msOf = (value: Json): number => Date.parse(textOf(value)) || 0
const idOf = (wallet: Json): string => walletOrNull(textOf(wallet))?.id ?? ''

/** @param row its published form, or the SHA-256 */
function rowOf(
  kind: LogEntryKind,
  key: string,
  row: object | string,
  more: Partial<ServedRow> = {},
): ServedRow {
  const sha256 = typeof row === 'string' ? row : sha256Hex(canonicalize(row))
  return { kind, key, sha256, name: key, ...more }
}

/** @param archive a clone of the git archive */
export async function* servedRows(session: Session, archive?: string): AsyncGenerator<ServedRow> {
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
    for (const [at, row] of rows.entries()) {
      const bundle = /[0-9a-f]{64}/.exec(textOf(row['evidence_uri']))?.[0] ?? ''
      const name = `of ${rail} at ${textOf(row['polled_at'])}`
      const endOf = at === shownPolls - 1 ? rail : undefined
      const more = { name, timeMs: msOf(row['polled_at']), endOf }
      yield rowOf('poll', bundle, bundle, more)
      yield rowOf('history', bundle, pollHash(rail, row), more)
    }
  }

  async function* authored(): AsyncGenerator<ServedRow> {
    const list = await read(pathOf('listPlatforms'))
    for (const { revoked_index: index, ...row } of rowsIn(list, 'platforms')) {
      const platform = textOf(row['platform'])
      yield rowOf('platform', platform, row)
      const revokedAt = row['revoked_at']
      const stated = revokedAt === undefined ? {} : { index: index ?? null }
      yield { ...keyRow(platform, row['public_key'], revokedAt), ...stated }
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

  /** A worker with a statement has receipts. */
  async function* statements(wallet: string): AsyncGenerator<ServedRow> {
    const list = await read(pathOf('listStatements', { wallet }))
    for (const row of rowsIn(list, 'statements')) {
      const month = textOf(row['month'])
      const sha256 = sha256Hex(await bytesOf(pathOf('getStatement', { wallet, month })))
      yield rowOf('statement', `${wallet}/${month} ${sha256}`, sha256, {
        timeMs: msOf(row['closed_at']),
      })
    }
  }

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
  const workers = new Set<string>()
  for await (const receipt of pages(`${pathOf('listReceipts')}?content=true&`, 'receipts')) {
    workers.add(idOf(receipt['to_wallet']))
    yield* receiptRows(receipt)
  }
  workers.delete('')
  for (const wallet of workers) yield* statements(wallet)
  if (archive === undefined) return
  const git = { encoding: 'utf8', maxBuffer: Number.POSITIVE_INFINITY } as const
  const ids = execFileSync('git', ['-C', archive, 'rev-list', 'HEAD'], git)
  for (const [at, id] of ids.trim().split('\n').entries())
    yield rowOf('archive', id, sha256Hex(id), { mayLack: at > 0 })
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

/** All steps must be of the dispute; the first one must have its claim, and the last one its state. */
function disputeRows(dispute: JsonObject): readonly ServedRow[] {
  const { dispute_id, claim, state, wallet, target, figure, evidence_url } = dispute
  const { opened_at, updated_at } = dispute
  const steps = rowsIn(dispute, 'steps')
  const first = present({ at: opened_at, text: claim, wallet, target, figure, evidence_url })
  const at = steps.length > 1 || updated_at === opened_at ? updated_at : null
  const isWithheld = steps.some(({ event }) => event === 'withheld')
  const last = steps.findLast(({ event }) => event !== 'withheld')
  // A dispute without steps has a row without an entry.
  return (steps.length === 0 ? [{}] : steps).map((step: JsonObject, number) => {
    const event = step === last ? { event: state === 'open' ? 'opened' : state } : {}
    const ends = { ...(number === 0 ? first : {}), ...(steps[number + 1] ? {} : { at }), ...event }
    const shown = present({ ...step, ...ends, dispute_id })
    const hasWords = /"(?:text|figure|evidence_url)":/.test(canonicalize(shown))
    const hash = isWithheld && !hasWords ? step['sha256'] : undefined
    const more = { timeMs: msOf(step['at']), isWithheld: hash !== undefined }
    const row = hash === undefined ? shown : textOf(hash)
    return rowOf('dispute', textOf(step['step_id']), row, more)
  })
}

const signedFacts =
  'rail chain tx_hash from_wallet to_wallet amount_usdc asset_symbol occurred_at summary job_id evidence_url platform'.split(
    ' ',
  )

/** A fact that differs from the signed content replaces it, so that the hash differs. */
function* receiptRows(receipt: JsonObject): Generator<ServedRow> {
  const id = textOf(receipt['receipt_id'])
  const content = objectOf(receipt['content'])
  const verdict = objectOf(receipt['onchain'])
  // A receipt without a chain is shown with that of its rail.
  const differing = signedFacts.filter(
    (name) =>
      factOf(name, receipt[name]) !== factOf(name, content[name]) &&
      (name !== 'chain' || name in content),
  )
  const changed = differing.map((name) => [name, receipt[name] ?? null] as const)
  const shown = { ...content, ...Object.fromEntries(changed), ...falseVerification(receipt) }
  yield rowOf('receipt', id, shown, { timeMs: msOf(receipt['accepted_at']) })
  if ((verdict['verdict'] ?? 'unchecked') !== 'unchecked')
    yield rowOf('check', id, { receipt_id: id, ...verdict })
}

/** Only a final verdict verifies a payment, and only the chain or a platform a receipt. */
function falseVerification({ onchain, onchain_verified, verification, ...receipt }: JsonObject) {
  const isFinal = objectOf(onchain)['verdict'] === 'final'
  const isClaimed = isFinal || receipt['platform'] !== undefined
  return {
    ...(onchain_verified === true && !isFinal ? { onchain_verified } : {}),
    ...(verification === 'verified' && !isClaimed ? { verification } : {}),
  }
}

/** Normalizes a fact, so that a list and a signed receipt compare equal. */
function factOf(name: string, value: Json): Json {
  if (name === 'amount_usdc') return Number(value)
  if (name === 'occurred_at') return msOf(value)
  return name.endsWith('_wallet') ? idOf(value) : value
}
