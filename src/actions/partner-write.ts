import { isoTime } from '../core/time.ts'
import { appendOath } from '../db/oaths.ts'
import type { NewOathRow } from '../db/oaths.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { Outcome, SignedProof, WriteRequest } from './idempotency.ts'
import { requireOwnPartner, requirePartner, tierOf } from './partner-access.ts'
import type { BearerProof, CurrentPartner } from './partner-access.ts'
import { enforcePartnerWriteQuota } from './write-quotas.ts'

export interface PartnerWrite {
  readonly request: WriteRequest
  readonly proof: BearerProof
  readonly rawSha256: string
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
    readonly action: string
    readonly statement?: Statement
  },
  work: (tx: DbTransaction) => Promise<Outcome<Body>>,
): Promise<Outcome<Body>> {
  const { request, proof, rawSha256, action, statement } = write
  const { nowMs } = request
  const proofs = statement === undefined ? [proof] : [proof, statement.proof]
  return await commitOnce(deps, request, proofs, async (tx) => {
    const partner = await requirePartner(tx, proof, { use: 'write', nowMs })
    const { handle } = partner
    const { wallet_rate_multiplier: multiplier } = tierOf(deps.reference(), partner)
    await enforcePartnerWriteQuota(tx, { handle, multiplier }, nowMs)
    const outcome = await work(tx)
    const { binding } = proof
    await appendOath(tx, rowOf(proof, { handle, action, nowMs, bodySha256: rawSha256, binding }))
    if (statement !== undefined) {
      const { bodySha256 } = statement
      await appendOath(
        tx,
        rowOf(statement.proof, { handle, action, nowMs, bodySha256, binding: 'statement' }),
      )
    }
    return outcome
  })
}

/** Like `commitPartnerWrite`, for any state of the subscription. @throws ApiError 403 for wallets without a partner */
export async function commitOwnWrite<Body extends object>(
  deps: ActionDeps,
  write: PartnerWrite & { readonly action: string },
  work: (tx: DbTransaction, partner: CurrentPartner) => Promise<Outcome<Body>>,
): Promise<Outcome<Body>> {
  const { request, proof, rawSha256: bodySha256, action } = write
  const { nowMs } = request
  return await commitOnce(deps, request, [proof], async (tx) => {
    const partner = await requireOwnPartner(tx, proof, nowMs)
    const { handle } = partner
    const outcome = await work(tx, partner)
    await appendOath(
      tx,
      rowOf(proof, { handle, action, nowMs, bodySha256, binding: proof.binding }),
    )
    return outcome
  })
}

function rowOf(
  { wallet, messageSha256, signatureSha256 }: SignedProof,
  write: Pick<NewOathRow, 'handle' | 'action' | 'bodySha256' | 'binding'> & {
    readonly nowMs: number
  },
): NewOathRow {
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
