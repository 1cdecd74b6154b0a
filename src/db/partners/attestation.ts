/** Where a partner attests, and the wallet that may move it. */
import type { Kysely } from 'kysely'

import type { Database } from '../schema.ts'
import { columns, toRecord } from './record.ts'
import type { Attestation, PartnerRecord } from './record.ts'

/**
 * Moves the attestation endpoint, if the binding still is what the caller decided by.
 * Null where another write came first: then nothing is changed.
 */
export async function moveAttestation(
  db: Kysely<Database>,
  handle: string,
  before: Attestation,
  after: Attestation & { readonly now: string },
): Promise<PartnerRecord | null> {
  const row = await db
    .updateTable('partners')
    .set({
      attestation_wallet: after.wallet,
      attestation_url: after.url,
      attestation_signature_sha256: after.signatureSha256,
      attestation_signed_at: after.signedAt,
      attestation_oath_seq: after.oathSeq,
      updated_at: after.now,
    })
    .where('handle', '=', handle)
    .where('attestation_oath_seq', '=', before.oathSeq)
    .where('attestation_wallet', 'is', before.wallet)
    .returning(columns)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/**
 * Takes the binding off a partner, for the operator: the endpoint stays, and the next signature by a
 * wallet of the partner's oath history binds it anew. False where there is no such partner.
 */
export async function releaseAttestation(
  db: Kysely<Database>,
  handle: string,
  now: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('partners')
    .set({ attestation_wallet: null, updated_at: now })
    .where('handle', '=', handle)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
