/** The attestation endpoint of a partner, and the wallet that may change it. */
import type { Kysely } from 'kysely'

import type { Database } from '../schema.ts'
import { partnerColumns, toPartner } from './record.ts'
import type { Attestation, PartnerRecord } from './record.ts'

/** Changes the endpoint if the binding is still `before`; null, and nothing changed, where another write came first. */
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
    .returning(partnerColumns)
    .executeTakeFirst()
  return row === undefined ? null : toPartner(row)
}

/**
 * Removes the binding, for the operator: the endpoint stays, and the next signature by a wallet of the partner's oath
 * history binds it anew. False for an unknown partner.
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
