import type { Partner } from '../contract/schemas/partner.ts'
import { present } from '../core/entries.ts'
import type { PartnerSubscription } from '../core/partner.ts'
import { GRACE_MS, PATIENCE_MS, subscriptionAt } from '../core/partner.ts'
import { isoTime } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { countList, newestFirst } from './list-queries.ts'
import type { RowList } from './list-queries.ts'
import { lookAlikes } from './names.ts'
import { countRows, findRecord, insertRecord, selectRecords, updateRecord } from './records.ts'
import type { ChangesOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export interface PartnerProfile extends Pick<
  RecordOf<'partners'>,
  'displayName' | 'skills' | 'website' | 'bioShort'
> {
  readonly requireBodySignature: boolean
}

export interface PartnerRecord extends Omit<RecordOf<'partners'>, 'requireBodySignature'> {
  readonly requireBodySignature: boolean
  /** As last written; `subscriptionAt` gives its state at a time. */
  readonly subscription: PartnerSubscription
}

export function toPartner(row: RecordOf<'partners'>): PartnerRecord {
  const { tier, status, renewsAt, rateMicroUsdc, onExpiry, createdAt } = row
  return {
    ...row,
    requireBodySignature: row.requireBodySignature === 1,
    subscription: {
      tier,
      status,
      renewsAtMs: renewsAt === null ? null : Date.parse(renewsAt),
      createdAtMs: Date.parse(createdAt),
      rateMicroUsdc,
      onExpiry,
    },
  }
}

export function partnerView(partner: PartnerRecord): Partner {
  const { subscription } = partner
  return {
    handle: partner.handle,
    display_name: partner.displayName,
    wallet: partner.display,
    tier: subscription.tier,
    status: subscription.status,
    skills: [...partner.skills],
    ...present({ website: partner.website, bio_short: partner.bioShort }),
    attestation_endpoint_url: partner.attestationUrl,
    attestation_signature_sha256: partner.attestationSignatureSha256,
    attestation_signed_at: partner.attestationSignedAt,
    oath_signed_at: partner.oathSignedAt,
    created_at: partner.createdAt,
  }
}

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

interface ListedPartner {
  readonly seq: number
  readonly partner: Partner
}

/** Marks names that resemble earlier ones. */
export async function markedPartners(
  db: Db,
  records: readonly PartnerRecord[],
): Promise<readonly ListedPartner[]> {
  const wallets = records.map(({ wallet }) => wallet)
  const marked = await lookAlikes(db, 'partner', wallets)
  return records.map((record) => {
    const mark = marked.has(record.wallet) ? { looks_like_another: true as const } : {}
    return { seq: record.seq, partner: { ...partnerView(record), ...mark } }
  })
}

export const partnerRows: RowList<ListedPartner> = {
  name: 'partners',
  async read(db, page) {
    const rows = await newestFirst(subscribed(db), page).execute()
    return await markedPartners(db, rows.map(toPartner))
  },
  count: (db) => countList(db, subscribed(db)),
}

export interface NewPartner
  extends
    PartnerProfile,
    Pick<RecordOf<'partners'>, 'handle' | 'email' | 'tier' | 'status' | 'oathSignedAt'> {
  readonly wallet: Wallet
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

/** `not in` uses no index, so that the rows come in the order of `seq` without a sort. */
function subscribed(db: Db) {
  return selectRecords(db, 'partners').where('status', 'not in', ['pending', 'cancelled'])
}

function profileFacts(profile: PartnerProfile) {
  const { displayName, website, bioShort, skills } = profile
  const requireBodySignature = profile.requireBodySignature ? (1 as const) : (0 as const)
  return { displayName, website, bioShort, skills, requireBodySignature }
}

/** The wallet that may change the endpoint, if any, and the oath history row of the last change. */
export type AttestationBinding = Pick<PartnerRecord, 'attestationWallet' | 'attestationOathSeq'>

/** Compare-and-set on `before`; null if another write came first. */
export async function moveAttestation(
  db: Db,
  handle: string,
  { attestationWallet, attestationOathSeq }: AttestationBinding,
  changes: AttestationBinding & ChangesOf<'partners'>,
): Promise<PartnerRecord | null> {
  const before = { handle, attestationWallet, attestationOathSeq }
  const isMoved = await updateRecord(db, 'partners', before, changes)
  return isMoved ? await findPartner(db, { handle }) : null
}

/** The alerts and the attestation endpoint follow. */
export async function moveWallet(
  db: Db,
  { handle, wallet: old, attestationWallet }: PartnerRecord,
  { wallet, now }: { readonly wallet: Wallet; readonly now: string },
): Promise<PartnerRecord> {
  await updateRecord(
    db,
    'partners',
    { handle },
    {
      wallet: wallet.id,
      display: wallet.display,
      attestationWallet: attestationWallet === old ? wallet.id : attestationWallet,
      updatedAt: now,
    },
  )
  await updateRecord(db, 'alert_subscriptions', { wallet: old }, { wallet: wallet.id })
  return await knownPartner(db, handle)
}

/** Unbinds the wallet for the operator; the next signature binds one. Returns false for an unknown partner. */
export async function releaseAttestation(db: Db, handle: string, now: string): Promise<boolean> {
  const changes = { attestationWallet: null, updatedAt: now }
  return await updateRecord(db, 'partners', { handle }, changes)
}

export async function setSubscription(
  db: Db,
  handle: string,
  subscription: PartnerSubscription,
  now: string,
): Promise<void> {
  const { tier, status, renewsAtMs, rateMicroUsdc, onExpiry } = subscription
  const renewsAt = renewsAtMs === null ? null : isoTime(renewsAtMs)
  const changes = { tier, status, renewsAt, rateMicroUsdc, onExpiry }
  await updateRecord(db, 'partners', { handle }, { ...changes, updatedAt: now })
}

/** Writes due status changes; returns their number. Reads do not depend on it: they use `subscriptionAt`. */
export async function expireSubscriptions(db: Db, nowMs: number): Promise<number> {
  const rows = await selectRecords(db, 'partners')
    .where((eb) =>
      eb.or([
        eb('status', '=', 'active').and('renews_at', '<=', isoTime(nowMs)),
        eb('status', '=', 'past_due').and('renews_at', '<=', isoTime(nowMs - GRACE_MS)),
        eb('status', '=', 'pending').and('created_at', '<=', isoTime(nowMs - PATIENCE_MS)),
      ]),
    )
    .orderBy('seq')
    .execute()
  let changed = 0
  for (const { handle, subscription } of rows.map(toPartner)) {
    const current = subscriptionAt(subscription, nowMs)
    if (current === subscription) continue
    await setSubscription(db, handle, current, isoTime(nowMs))
    changed += 1
  }
  return changed
}

export async function changeByPayment(
  db: Db,
  paymentId: string,
): Promise<RecordOf<'subscription_changes'> | null> {
  return await findRecord(db, 'subscription_changes', { paymentId, kind: 'paid' })
}
