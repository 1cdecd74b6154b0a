import type { PartnerSubscription, TierName } from '../../core/partner.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import { countRows } from '../queries.ts'
import type { Db } from '../schema.ts'
import { partnerColumns, toPartner } from './record.ts'
import type { Attestation, PartnerProfile, PartnerRecord } from './record.ts'

export async function findPartner(
  db: Db,
  by: { readonly handle: string } | { readonly wallet: string },
): Promise<PartnerRecord | null> {
  const query = db.selectFrom('partners').select(partnerColumns)
  const one =
    'handle' in by ? query.where('handle', '=', by.handle) : query.where('wallet', '=', by.wallet)
  const row = await one.executeTakeFirst()
  return row === undefined ? null : toPartner(row)
}

export async function listPartners(db: Db): Promise<readonly PartnerRecord[]> {
  return (await db.selectFrom('partners').select(partnerColumns).orderBy('seq').execute()).map(
    toPartner,
  )
}

/** Newest first. */
export async function newestPartners(db: Db, limit: number): Promise<readonly PartnerRecord[]> {
  const rows = await db
    .selectFrom('partners')
    .select(partnerColumns)
    .where('status', 'in', ['active', 'past_due'])
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toPartner)
}

export interface NewPartner extends PartnerProfile {
  readonly handle: string
  readonly wallet: Wallet
  readonly email: string | null
  readonly tier: TierName
  readonly status: PartnerSubscription['status']
  readonly oathSignedAt: string
  /** The row of the partner oath. Its wallet is the first one bound to the endpoint. */
  readonly oathSeq: number
  readonly now: string
}

/** Handle and wallet must be free: check `findPartner` in the same transaction. */
export async function insertPartner(db: Db, partner: NewPartner): Promise<PartnerRecord> {
  const { wallet, now } = partner
  const row = await db
    .insertInto('partners')
    .values({
      handle: partner.handle,
      wallet: wallet.id,
      display: wallet.display,
      email: partner.email,
      ...profileColumns(partner),
      tier: partner.tier,
      status: partner.status,
      renews_at: null,
      oath_signed_at: partner.oathSignedAt,
      attestation_wallet: wallet.id,
      attestation_url: null,
      attestation_signature_sha256: null,
      attestation_signed_at: null,
      attestation_oath_seq: partner.oathSeq,
      created_at: now,
      updated_at: now,
    })
    .returning(partnerColumns)
    .executeTakeFirstOrThrow()
  return toPartner(row)
}

export async function updateProfile(
  db: Db,
  handle: string,
  profile: PartnerProfile & { readonly now: string },
): Promise<PartnerRecord> {
  const row = await db
    .updateTable('partners')
    .set({ ...profileColumns(profile), updated_at: profile.now })
    .where('handle', '=', handle)
    .returning(partnerColumns)
    .executeTakeFirstOrThrow()
  return toPartner(row)
}

export async function countPartners(db: Db): Promise<number> {
  return await countRows(db.selectFrom('partners').where('status', 'in', ['active', 'past_due']))
}

function profileColumns(profile: PartnerProfile) {
  return {
    display_name: profile.displayName,
    skills: toJsonText(profile.skills),
    website: profile.website,
    bio_short: profile.bioShort,
    require_body_signature: profile.requireBodySignature ? (1 as const) : (0 as const),
  }
}

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

/** Unbinds the wallet for the operator; the next signature binds one. Returns false for an unknown partner. */
export async function releaseAttestation(db: Db, handle: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('partners')
    .set({ attestation_wallet: null, updated_at: now })
    .where('handle', '=', handle)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
