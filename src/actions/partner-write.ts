/** A write of an active partner: once, and with its row in the history of oaths. */
import type { Transaction } from 'kysely'

import { isoTime } from '../core/time.ts'
import { appendOath } from '../db/oaths.ts'
import type { NewOathRow } from '../db/oaths.ts'
import type { Database } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { Outcome, SignedProof, WriteRequest } from './idempotency.ts'
import { requireOwnPartner, requirePartner, tierOf } from './partner-access.ts'
import type { BearerProof, CurrentPartner } from './partner-access.ts'
import { enforcePartnerWriteQuota } from './write-quotas.ts'

/** A request as the handlers hand it on. */
export interface PartnerWrite {
  readonly request: WriteRequest
  readonly proof: BearerProof
  /** Lower-case hex of the body's bytes. */
  readonly rawSha256: string
}

/** A signature in the body beside the bearer's, and the canonical body that it covers. */
export interface Statement {
  readonly proof: SignedProof
  readonly bodySha256: string
}

/** Runs `work` once. Where it throws, nothing is kept. @throws ApiError 403 where the wallet is no active partner. */
export async function commitPartnerWrite<Body extends object>(
  deps: ActionDeps,
  write: PartnerWrite & {
    /** The operationId, as it stands in the history. */
    readonly action: string
    readonly statement?: Statement
  },
  work: (tx: Transaction<Database>) => Promise<Outcome<Body>>,
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

/** The same for a partner in any state of its subscription. @throws ApiError 403 where the wallet has no partner. */
export async function commitOwnWrite<Body extends object>(
  deps: ActionDeps,
  write: PartnerWrite & { readonly action: string },
  work: (tx: Transaction<Database>, partner: CurrentPartner) => Promise<Outcome<Body>>,
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
