import type { Partner } from '../../contract/schemas/partner.ts'
import type { PartnerRecord } from './record.ts'

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
