import { keptRows } from '../core/limits.ts'
import { isoTime } from '../core/time.ts'
import { appendOath } from '../db/oaths.ts'
import type { NewOathRow } from '../db/oaths.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { Outcome, SignedProof, WriteRequest, WriteTerms } from './idempotency.ts'
import { requirePartner } from './partner-access.ts'
import type { BearerProof, CurrentPartner } from './partner-access.ts'
import { enforcePartnerWriteQuota } from './write-quotas.ts'

export interface PartnerWrite {
  readonly request: WriteRequest
  readonly proof: BearerProof
  readonly rawSha256: string
  /** The id of the route, for the oath history. */
  readonly action: string
}

/** A second signature, in the body, and the canonical body that it covers. */
export interface Statement {
  readonly proof: SignedProof
  readonly bodySha256: string
}

/** Runs `work` once and appends to the oath history. @throws ApiError 403 for wallets without an active subscription */
export async function commitPartnerWrite<Body extends object>(
  deps: ActionDeps,
  write: PartnerWrite & {
    readonly statement?: Statement
    /** `own` also allows writes of partners without an active subscription, without a quota. */
    readonly use?: 'own'
  } & Partial<WriteTerms>,
  work: (tx: DbTransaction, partner: CurrentPartner) => Promise<Outcome<Body>>,
): Promise<Outcome<Body>> {
  const { proof, rawSha256, action, statement, use = 'write', locks } = write
  const { rows = keptRows.partnerWrite } = write
  const request = { ...write.request, rows, locks }
  const { nowMs } = request
  const proofs = statement === undefined ? [proof] : [proof, statement.proof]
  return await commitOnce(deps, request, proofs, async (tx) => {
    const partner = await requirePartner(tx, proof, { use, nowMs })
    const { handle } = partner
    if (use === 'write') await enforcePartnerWriteQuota(tx, deps, partner, nowMs)
    const outcome = await work(tx, partner)
    const { binding } = proof
    await appendOath(tx, writeRow(proof, { handle, action, nowMs, bodySha256: rawSha256, binding }))
    if (statement !== undefined) {
      const { bodySha256 } = statement
      await appendOath(
        tx,
        writeRow(statement.proof, { handle, action, nowMs, bodySha256, binding: 'statement' }),
      )
    }
    return outcome
  })
}

/** The row of a write without an oath. */
export function writeRow(
  proof: Pick<SignedProof, 'messageSha256' | 'signatureSha256'> & {
    readonly wallet: { readonly id: string }
  },
  write: Pick<NewOathRow, 'handle' | 'action' | 'bodySha256' | 'binding'> & {
    readonly nowMs: number
  },
): NewOathRow {
  const { wallet, messageSha256, signatureSha256 } = proof
  const { nowMs, ...facts } = write
  return {
    kind: 'write',
    oathVersion: null,
    wallet: wallet.id,
    messageSha256,
    signatureSha256,
    createdAt: isoTime(nowMs),
    ...facts,
  }
}
