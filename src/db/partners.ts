/** Partners: who they are, what they have subscribed to, and where they attest. */
import type { Kysely, Selectable } from 'kysely'
import { z } from 'zod'

import { GRACE_MS, PATIENCE_MS, subscriptionAt, tierNames } from '../core/partner.ts'
import type { PaidPeriod, Subscription, TierName } from '../core/partner.ts'
import { isoTime } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { fromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'
import type { PartnersTable } from './tables/partners.ts'

export interface Attestation {
  /** The `id` of the wallet that may move the endpoint; null where none is bound. */
  readonly wallet: string | null
  readonly url: string | null
  readonly signatureSha256: string | null
  /** RFC 3339. */
  readonly signedAt: string | null
  /** The row of the history of oaths that last changed this. */
  readonly oathSeq: number
}

/** What a partner says of itself. */
export interface PartnerProfile {
  readonly displayName: string
  readonly skills: readonly string[]
  readonly website: string | null
  readonly bioShort: string | null
  readonly requireBodySignature: boolean
}

export interface PartnerRecord extends PartnerProfile {
  readonly handle: string
  /** The wallet's `id`. */
  readonly wallet: string
  readonly display: string
  /** As it was written; `subscriptionAt` says what has run out since. */
  readonly subscription: Subscription
  readonly oathSignedAt: string
  readonly attestation: Attestation
  readonly createdAt: string
}

const columns = [
  'handle',
  'wallet',
  'display',
  'display_name',
  'skills',
  'website',
  'bio_short',
  'require_body_signature',
  'tier',
  'status',
  'renews_at',
  'periods',
  'follow',
  'oath_signed_at',
  'attestation_wallet',
  'attestation_url',
  'attestation_signature_sha256',
  'attestation_signed_at',
  'attestation_oath_seq',
  'created_at',
] as const satisfies readonly (keyof PartnersTable)[]

type Row = Pick<Selectable<PartnersTable>, (typeof columns)[number]>

const skillList = z.array(z.string())
const periodList = z.array(
  z.object({
    tier: z.enum(tierNames),
    from: z.string(),
    until: z.string(),
    value_micro_usdc: z.int().min(0),
  }),
)

function periodsOf(text: string): readonly PaidPeriod[] {
  return periodList.parse(fromJsonText(text)).map((period) => ({
    tier: period.tier,
    fromMs: Date.parse(period.from),
    untilMs: Date.parse(period.until),
    valueMicroUsdc: period.value_micro_usdc,
  }))
}

function periodsText(periods: readonly PaidPeriod[]): string {
  const rows: z.infer<typeof periodList> = periods.map((period) => ({
    tier: period.tier,
    from: isoTime(period.fromMs),
    until: isoTime(period.untilMs),
    value_micro_usdc: period.valueMicroUsdc,
  }))
  return toJsonText(rows)
}

function toRecord(row: Row): PartnerRecord {
  return {
    handle: row.handle,
    wallet: row.wallet,
    display: row.display,
    displayName: row.display_name,
    skills: skillList.parse(fromJsonText(row.skills)),
    website: row.website,
    bioShort: row.bio_short,
    requireBodySignature: row.require_body_signature === 1,
    subscription: {
      tier: row.tier,
      status: row.status,
      renewsAtMs: row.renews_at === null ? null : Date.parse(row.renews_at),
      createdAtMs: Date.parse(row.created_at),
      periods: periodsOf(row.periods),
      follow: row.follow,
    },
    oathSignedAt: row.oath_signed_at,
    attestation: {
      wallet: row.attestation_wallet,
      url: row.attestation_url,
      signatureSha256: row.attestation_signature_sha256,
      signedAt: row.attestation_signed_at,
      oathSeq: row.attestation_oath_seq,
    },
    createdAt: row.created_at,
  }
}

export async function findPartner(
  db: Kysely<Database>,
  by: { readonly handle: string } | { readonly wallet: string },
): Promise<PartnerRecord | null> {
  const query = db.selectFrom('partners').select(columns)
  const one =
    'handle' in by ? query.where('handle', '=', by.handle) : query.where('wallet', '=', by.wallet)
  const row = await one.executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** All partners in the order of signing up, whatever their state; for the operator. */
export async function listPartners(db: Kysely<Database>): Promise<readonly PartnerRecord[]> {
  return (await db.selectFrom('partners').select(columns).orderBy('seq').execute()).map(toRecord)
}

/** At most `limit` partners whose subscription has not run out, the newest first. */
export async function newestPartners(
  db: Kysely<Database>,
  limit: number,
): Promise<readonly PartnerRecord[]> {
  const rows = await db
    .selectFrom('partners')
    .select(columns)
    .where('status', 'in', ['active', 'past_due'])
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

export interface NewPartner extends PartnerProfile {
  readonly handle: string
  readonly wallet: Wallet
  readonly email: string | null
  readonly tier: TierName
  readonly status: Subscription['status']
  /** RFC 3339. */
  readonly oathSignedAt: string
  /** The row of the oath: the first binding is the wallet that swore it. */
  readonly oathSeq: number
  readonly now: string
}

/** Handle and wallet must be free: see `findPartner`, in the same transaction. */
export async function insertPartner(
  db: Kysely<Database>,
  partner: NewPartner,
): Promise<PartnerRecord> {
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
    .returning(columns)
    .executeTakeFirstOrThrow()
  return toRecord(row)
}

/** Replaces what a partner says of itself. */
export async function updateProfile(
  db: Kysely<Database>,
  handle: string,
  profile: PartnerProfile & { readonly now: string },
): Promise<PartnerRecord> {
  const row = await db
    .updateTable('partners')
    .set({ ...profileColumns(profile), updated_at: profile.now })
    .where('handle', '=', handle)
    .returning(columns)
    .executeTakeFirstOrThrow()
  return toRecord(row)
}

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

/** Whether a wallet has sworn or signed anything for a handle. */
export async function isInOathHistory(
  db: Kysely<Database>,
  handle: string,
  walletId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('oath_history')
    .select('seq')
    .where('handle', '=', handle)
    .where('wallet', '=', walletId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Writes a subscription as it now stands, after a payment or a cancellation. */
export async function setSubscription(
  db: Kysely<Database>,
  handle: string,
  subscription: Subscription,
  now: string,
): Promise<void> {
  const { tier, status, renewsAtMs, periods, follow } = subscription
  const renewsAt = renewsAtMs === null ? null : isoTime(renewsAtMs)
  await db
    .updateTable('partners')
    .set({
      tier,
      status,
      renews_at: renewsAt,
      periods: periodsText(periods),
      follow,
      updated_at: now,
    })
    .where('handle', '=', handle)
    .executeTakeFirstOrThrow()
}

/**
 * Writes what time has decided by `nowMs`: periods that ended, grace that passed, signups that never paid.
 * For a cron job, in a transaction; answers how many partners it moved. Reads need not wait for it, since
 * they ask `subscriptionAt`.
 */
export async function expireSubscriptions(db: Kysely<Database>, nowMs: number): Promise<number> {
  const rows = await db
    .selectFrom('partners')
    .select(columns)
    .where((eb) =>
      eb.or([
        eb('status', '=', 'active').and('renews_at', '<=', isoTime(nowMs)),
        // Several periods may be of several tiers: the next one may have begun.
        eb('status', '=', 'active').and(sql`json_array_length(periods)`, '>', 1),
        eb('status', '=', 'past_due').and('renews_at', '<=', isoTime(nowMs - GRACE_MS)),
        eb('status', '=', 'pending').and('created_at', '<=', isoTime(nowMs - PATIENCE_MS)),
      ]),
    )
    .orderBy('seq')
    .execute()
  let moved = 0
  for (const { handle, subscription } of rows.map(toRecord)) {
    const current = subscriptionAt(subscription, nowMs)
    if (current === subscription) continue
    await setSubscription(db, handle, current, isoTime(nowMs))
    moved += 1
  }
  return moved
}

/** Partners whose subscription has not run out, as it was last written. */
export async function countPartners(db: Kysely<Database>): Promise<number> {
  const { total } = await db
    .selectFrom('partners')
    .select(sql<number>`count(*)`.as('total'))
    .where('status', 'in', ['active', 'past_due'])
    .executeTakeFirstOrThrow()
  return total
}

/** Writes of a handle after a time, by the rows they left. */
export async function countPartnerWrites(
  db: Kysely<Database>,
  handle: string,
  since: string,
): Promise<number> {
  const { total } = await db
    .selectFrom('oath_history')
    .select(sql<number>`count(*)`.as('total'))
    .where('handle', '=', handle)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return total
}

/** All rows of a handle's history. */
export async function countOaths(db: Kysely<Database>, handle: string): Promise<number> {
  const { total } = await db
    .selectFrom('oath_history')
    .select(sql<number>`count(*)`.as('total'))
    .where('handle', '=', handle)
    .executeTakeFirstOrThrow()
  return total
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
