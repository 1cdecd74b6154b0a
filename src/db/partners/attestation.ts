import type { Db } from '../schema.ts'
import { partnerColumns, toPartner } from './record.ts'
import type { Attestation, PartnerRecord } from './record.ts'

/** Compare-and-set on `before`; null if another write came first. */
export async function moveAttestation(
  db: Db,
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

/** For the operator: keeps the URL, the next signature binds a wallet again. False for an unknown partner. */
export async function releaseAttestation(db: Db, handle: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('partners')
    .set({ attestation_wallet: null, updated_at: now })
    .where('handle', '=', handle)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
