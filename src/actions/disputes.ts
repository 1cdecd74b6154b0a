import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type {
  Dispute,
  DisputeBody,
  DisputeTarget,
  WithdrawalBody,
} from '../contract/schemas/dispute.ts'
import { toBase64 } from '../core/base64.ts'
import { present } from '../core/entries.ts'
import { keptRows, writeQuotas } from '../core/limits.ts'
import { newId } from '../core/new-id.ts'
import { isoTime } from '../core/time.ts'
import { walletPublicKey } from '../core/wallet.ts'
import type { Wallet } from '../core/wallet.ts'
import { disputeViews, followDispute, openDispute, undecidedDispute } from '../db/disputes.ts'
import type { DisputeRecord } from '../db/disputes.ts'
import { findEvidence } from '../db/evidence.ts'
import { findReceipt } from '../db/receipts/receipts.ts'
import { findRecord, selectRecords } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { invalidField, verifySignedBody } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'
import { chargeNetworkDispute, enforceRowQuota, networkLocks } from './write-quotas.ts'

/** The hash of the document that is served at the path; undefined without one. */
export type PublishedHash = (path: string) => string | undefined

export async function submitDispute(
  deps: ActionDeps,
  publishedHash: PublishedHash,
  write: IncomingWrite<DisputeBody>,
): Promise<OutcomeOf<'openDispute'>> {
  const { body, request, fingerprint } = write
  const { nowMs } = request
  const proof = await verifySignedBody(deps, write, messages.dispute)
  const { wallet } = proof
  const { rail, ...found } = await findTarget(deps, publishedHash, body.target)
  const id = newId(deps.random, 'dsp')
  const decide = async (tx: Db) => {
    const ofWallet = selectRecords(tx, 'disputes', { wallet: wallet.id })
    await enforceRowQuota(writeQuotas.walletDisputes, nowMs, ofWallet, 'opened_at')
    await chargeNetworkDispute(tx, deps, fingerprint, nowMs)
    const { target, claim: text, figure, evidence_url } = body
    const standing = standingOf(deps, wallet, rail)
    const of = { wallet: wallet.id, display: wallet.display, openedAt: isoTime(nowMs), standing }
    const words = { text, ...present({ figure, evidence_url, ...found }) }
    const earlier = await undecidedDispute(tx, wallet.id, target)
    if (earlier !== undefined) {
      const details = `This wallet has the undecided dispute ${earlier.id} about this target; wait for the decision or withdraw it`
      throw new ApiError('conflict', details)
    }
    await openDispute(tx, { id, ...of, target, rail }, words)
    return { status: 201 as const, body: await viewOf(tx, id, nowMs) }
  }
  const terms = { ...request, rows: keptRows.dispute, locks: networkLocks(fingerprint) }
  return await commitOnce(deps, terms, [proof], decide)
}

export async function withdrawDispute(
  deps: ActionDeps,
  id: string,
  write: IncomingWrite<WithdrawalBody>,
): Promise<OutcomeOf<'withdrawDispute'>> {
  const { body, request } = write
  const { nowMs } = request
  if (body.dispute_id !== id) throw invalidField('dispute_id', 'must be the id in the path')
  const proof = await verifySignedBody(deps, write, messages.dispute)
  const terms = { ...request, rows: keptRows.dispute }
  return await commitOnce(deps, terms, [proof], async (tx) => {
    const found = await findRecord(tx, 'disputes', { id })
    if (found === null) throw new ApiError('unknown_dispute')
    if (found.wallet !== proof.wallet.id) {
      throw new ApiError('forbidden', 'Only the wallet that opened the dispute can withdraw it')
    }
    const at = isoTime(nowMs)
    if (!(await followDispute(tx, id, { event: 'withdrawn', at }))) {
      throw new ApiError('conflict', `The dispute is ${found.state}, which is final`)
    }
    return { status: 200, body: await viewOf(tx, id, nowMs) }
  })
}

/** @throws ApiError `unknown_dispute` */
export async function viewOf(db: Db, id: string, nowMs: number): Promise<Dispute> {
  const record = await findRecord(db, 'disputes', { id })
  const [view] = record === null ? [] : await disputeViews(db, [record], nowMs)
  if (view === undefined) throw new ApiError('unknown_dispute')
  return view
}

const railOfPath = /^(?:\/api\/v1)?\/rails\/([a-z0-9][a-z0-9_-]*)(?:[./]|$)/
const evidenceOfPath = /^\/evidence\/([0-9a-f]{64})\.json$/

/** `rail` is null for a target that belongs to no rail of the ledger. @throws ApiError `refused` if there is no such target */
async function findTarget(
  { database: { reader }, reference }: ActionDeps,
  publishedHash: PublishedHash,
  target: DisputeTarget,
): Promise<{ readonly rail: string | null; readonly target_is_current?: false }> {
  if ('flag_id' in target) {
    const flag = await findRecord(reader, 'flags', { id: target.flag_id })
    if (flag !== null) return { rail: flag.rail }
    throw new ApiError('refused', 'No flag has this id; GET /api/v1/honesty/flags lists open flags')
  }
  const { rails } = reference()
  const known = (rail: string | undefined) => (rail !== undefined && rails.has(rail) ? rail : null)
  if ('receipt_id' in target) {
    const receipt = await findReceipt(reader, target.receipt_id)
    if (receipt !== null) return { rail: known(receipt.rail) }
    throw new ApiError('refused', 'No receipt has this id; GET /api/v1/receipts lists receipts')
  }
  const { path, sha256 } = target
  const bundle = evidenceOfPath.exec(path)?.[1]
  const isEvidence = bundle !== undefined && (await findEvidence(reader, bundle)) !== null
  const current = isEvidence ? bundle : publishedHash(path)
  if (current === undefined) {
    throw new ApiError('refused', 'No document is served at this path; /snapshot.json lists them')
  }
  const rail = known(railOfPath.exec(path)?.[1])
  return sha256 === current ? { rail } : { rail, target_is_current: false }
}

/** `unknown` until the builder has read the file of the rail. */
function standingOf(
  { reference }: ActionDeps,
  wallet: Wallet,
  rail: string | null,
): DisputeRecord['standing'] {
  if (rail === null) return 'anyone'
  const key = walletPublicKey(wallet)
  const text = key === null ? null : toBase64(key)
  const isPlatform = [...reference().platforms.values()].some(
    ({ public_key, rails, revoked_at }) =>
      public_key === text && rails.includes(rail) && revoked_at === undefined,
  )
  return isPlatform ? 'subject' : 'unknown'
}
