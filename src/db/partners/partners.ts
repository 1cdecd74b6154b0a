import type { PartnerSubscription, TierName } from '../../core/partner.ts'
import type { Wallet } from '../../core/wallet.ts'
import { countRows, findRecord, insertRecord, selectRecords, updateRecord } from '../records.ts'
import type { Db } from '../schema.ts'
import { toPartner } from './record.ts'
import type { Attestation, PartnerProfile, PartnerRecord } from './record.ts'

export async function findPartner(
  db: Db,
  by: { readonly handle: string } | { readonly wallet: string },
): Promise<PartnerRecord | null> {
  const row = await findRecord(db, 'partners', by)
  return row === null ? null : toPartner(row)
}

export async function listPartners(db: Db): Promise<readonly PartnerRecord[]> {
  return (await selectRecords(db, 'partners').orderBy('seq').execute()).map(toPartner)
}

/** Newest first. */
export async function newestPartners(db: Db, limit: number): Promise<readonly PartnerRecord[]> {
  const newest = subscribed(db).orderBy('seq', 'desc').limit(limit)
  return (await newest.execute()).map(toPartner)
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
  const { wallet, oathSeq, now, ...facts } = partner
  await insertRecord(db, 'partners', {
    ...facts,
    ...profileFacts(facts),
    wallet: wallet.id,
    display: wallet.display,
    attestationWallet: wallet.id,
    attestationOathSeq: oathSeq,
    createdAt: now,
    updatedAt: now,
  })
  return await knownPartner(db, partner.handle)
}

export async function updateProfile(
  db: Db,
  handle: string,
  profile: PartnerProfile & { readonly now: string },
): Promise<PartnerRecord> {
  const { now: updatedAt, ...facts } = profile
  await updateRecord(db, 'partners', { handle }, { ...profileFacts(facts), updatedAt })
  return await knownPartner(db, handle)
}

async function knownPartner(db: Db, handle: string): Promise<PartnerRecord> {
  const partner = await findPartner(db, { handle })
  if (partner === null) throw new Error(`the partner ${handle} has no row`)
  return partner
}

export async function countPartners(db: Db): Promise<number> {
  return await countRows(subscribed(db))
}

function subscribed(db: Db) {
  return selectRecords(db, 'partners', { status: ['active', 'past_due'] })
}

function profileFacts(profile: PartnerProfile) {
  const { displayName, website, bioShort, skills } = profile
  const requireBodySignature = profile.requireBodySignature ? (1 as const) : (0 as const)
  return { displayName, website, bioShort, skills, requireBodySignature }
}

/** Compare-and-set on `before`; null if another write came first. */
export async function moveAttestation(
  db: Db,
  handle: string,
  before: Attestation,
  after: Attestation & { readonly now: string },
): Promise<PartnerRecord | null> {
  const isMoved = await updateRecord(
    db,
    'partners',
    { handle, attestationOathSeq: before.oathSeq, attestationWallet: before.wallet },
    {
      attestationWallet: after.wallet,
      attestationUrl: after.url,
      attestationSignatureSha256: after.signatureSha256,
      attestationSignedAt: after.signedAt,
      attestationOathSeq: after.oathSeq,
      updatedAt: after.now,
    },
  )
  return isMoved ? await findPartner(db, { handle }) : null
}

/** Unbinds the wallet for the operator; the next signature binds one. Returns false for an unknown partner. */
export async function releaseAttestation(db: Db, handle: string, now: string): Promise<boolean> {
  const changes = { attestationWallet: null, updatedAt: now }
  return await updateRecord(db, 'partners', { handle }, changes)
}
