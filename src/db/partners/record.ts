import type { Partner } from '../../contract/schemas/partner.ts'
import { present } from '../../core/entries.ts'
import type { PartnerSubscription } from '../../core/partner.ts'
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

export interface PartnerProfile extends Pick<
  RecordOf<'partners'>,
  'displayName' | 'skills' | 'website' | 'bioShort'
> {
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
    attestation: {
      wallet: row.attestationWallet,
      url: row.attestationUrl,
      signatureSha256: row.attestationSignatureSha256,
      signedAt: row.attestationSignedAt,
      oathSeq: row.attestationOathSeq,
    },
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
    ...present({ website: partner.website, bio_short: partner.bioShort }),
    attestation_endpoint_url: attestation.url,
    attestation_signature_sha256: attestation.signatureSha256,
    attestation_signed_at: attestation.signedAt,
    oath_signed_at: partner.oathSignedAt,
    created_at: partner.createdAt,
  }
}
