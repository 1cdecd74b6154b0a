import { z } from 'zod'

import type { Partner } from '../../contract/schemas/partner.ts'
import { tierNames } from '../../core/partner.ts'
import type { PaidPeriod, PartnerSubscription } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { fromJsonText, toJsonText } from '../json.ts'
import type { RecordOf } from '../rows.ts'

export interface Attestation {
  /** Wallet `id`; null without a binding. */
  readonly wallet: string | null
  readonly url: string | null
  readonly signatureSha256: string | null
  readonly signedAt: string | null
  /** The oath history row of the last change. */
  readonly oathSeq: number
}

export interface PartnerProfile {
  readonly displayName: string
  readonly skills: readonly string[]
  readonly website: string | null
  readonly bioShort: string | null
  readonly requireBodySignature: boolean
}

export interface PartnerRecord
  extends
    PartnerProfile,
    Pick<RecordOf<'partners'>, 'handle' | 'wallet' | 'display' | 'oathSignedAt' | 'createdAt'> {
  /** As last written; `subscriptionAt` gives its state at a time. */
  readonly subscription: PartnerSubscription
  readonly attestation: Attestation
}

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

export function toPartner(row: RecordOf<'partners'>): PartnerRecord {
  const { tier, status, renewsAt, periods, onExpiry, createdAt } = row
  return {
    handle: row.handle,
    wallet: row.wallet,
    display: row.display,
    displayName: row.displayName,
    skills: row.skills,
    website: row.website,
    bioShort: row.bioShort,
    requireBodySignature: row.requireBodySignature === 1,
    subscription: {
      tier,
      status,
      renewsAtMs: renewsAt === null ? null : Date.parse(renewsAt),
      createdAtMs: Date.parse(createdAt),
      periods: periodsOf(periods),
      onExpiry,
    },
    oathSignedAt: row.oathSignedAt,
    attestation: {
      wallet: row.attestationWallet,
      url: row.attestationUrl,
      signatureSha256: row.attestationSignatureSha256,
      signedAt: row.attestationSignedAt,
      oathSeq: row.attestationOathSeq,
    },
    createdAt,
  }
}

export function partnerView(partner: PartnerRecord): Partner {
  const { attestation, subscription } = partner
  return {
    handle: partner.handle,
    display_name: partner.displayName,
    wallet: partner.display,
    tier: subscription.tier,
    status: subscription.status,
    skills: [...partner.skills],
    ...(partner.website === null ? {} : { website: partner.website }),
    ...(partner.bioShort === null ? {} : { bio_short: partner.bioShort }),
    attestation_endpoint_url: attestation.url,
    attestation_signature_sha256: attestation.signatureSha256,
    attestation_signed_at: attestation.signedAt,
    oath_signed_at: partner.oathSignedAt,
    created_at: partner.createdAt,
  }
}
