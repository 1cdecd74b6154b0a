/** A partner as the program has it, and how it is read from its row. */
import type { Selectable } from 'kysely'
import { z } from 'zod'

import { tierNames } from '../../core/partner.ts'
import type { PaidPeriod, PartnerSubscription } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { fromJsonText, toJsonText } from '../json.ts'
import type { PartnersTable } from '../tables/partners.ts'

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
  readonly subscription: PartnerSubscription
  readonly oathSignedAt: string
  readonly attestation: Attestation
  readonly createdAt: string
}

export const columns = [
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
  'on_expiry',
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

export function periodsText(periods: readonly PaidPeriod[]): string {
  const rows: z.infer<typeof periodList> = periods.map((period) => ({
    tier: period.tier,
    from: isoTime(period.fromMs),
    until: isoTime(period.untilMs),
    value_micro_usdc: period.valueMicroUsdc,
  }))
  return toJsonText(rows)
}

export function toRecord(row: Row): PartnerRecord {
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
      onExpiry: row.on_expiry,
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
