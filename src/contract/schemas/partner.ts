import { z } from 'zod'

import { HANDLE, isFreeHandle, subscriptionStatuses, tierNames } from '../../core/partner.ts'
import { acceptedV1, acceptedV2 } from '../x402.ts'
import {
  count,
  looksLikeAnother,
  bodyModel,
  model,
  named,
  pageFields,
  sha256Hex,
  time,
  url,
  usdc,
  wallet,
  text,
  list,
} from './common.ts'
import {
  httpsInput,
  nameInput,
  signatureInput,
  textInput,
  timeInput,
  signedFields,
} from './input.ts'
import { distinctSkills } from './skill.ts'

export const tierName = z.enum(tierNames)

export const tier = model('Tier', {
  tier: tierName,
  name: text(60),
  price_usdc_month: usdc,
  wallet_rate_multiplier: z.int().min(1).nullable(),
  features: list(text(300), 32),
  covers: list(text(100), 16).describe('Premium reads included in the tier.'),
})

export type Tier = z.infer<typeof tier>

export const tierList = model('TierList', { count, tiers: list(tier, 16) })

export const oath = model('Oath', {
  kind: z.enum(['worker', 'claim', 'partner']),
  version: z.int().min(1).max(1000),
  text: text(4000).describe('{WALLET} and {TIMESTAMP} are substituted before signing.'),
})

export const oathList = model('OathList', { count, oaths: list(oath, 64) })

export const partnerHandle = z.string().regex(HANDLE, 'must be 3 to 32 of a-z, 0-9 and -')

const partnerFields = {
  handle: partnerHandle,
  display_name: text(80),
  looks_like_another: looksLikeAnother,
  wallet,
  tier: tierName,
  status: z.enum(subscriptionStatuses),
  skills: list(text(64), 32),
  website: url.optional(),
  bio_short: text(280).optional(),
  attestation_endpoint_url: url.nullable(),
  attestation_signature_sha256: sha256Hex.nullable(),
  attestation_signed_at: time.nullable(),
  oath_signed_at: time,
  created_at: time,
}

export const partner = model('Partner', partnerFields)
export type Partner = z.infer<typeof partner>

export const partnerList = model('PartnerList', {
  count,
  total: count.describe('Number of all partners.'),
  partners: list(partner, 200),
  computed_at: time,
})

const subscriptionNext = z.object({
  kind: z
    .enum(['payment', 'free', 'end'])
    .describe(
      '`payment`: the next payment is due. `free`: the free tier starts. `end`: the subscription ends unless it is paid.',
    ),
  at: time,
  tier: tierName
    .nullable()
    .describe('The tier that must be paid for or starts; null if the subscription ends.'),
  price_usdc: usdc
    .nullable()
    .describe('The amount due at that time for 30 days; null if nothing is due.'),
})

const subscriptionFields = {
  renews_at: time.nullable(),
  next: subscriptionNext.nullable().describe('The next change; null if there is none.'),
}

const perMinute = count.nullable().describe('Signed calls per minute; null without a limit.')

export const ownPartner = model('OwnPartner', {
  ...partnerFields,
  require_body_signature: z
    .boolean()
    .describe('Writes of this wallet require a signature over the body.'),
  ...subscriptionFields,
  limits: z.object({
    requests_per_minute: perMinute,
    covers: list(text(100), 16).describe('Premium reads included in the tier.'),
  }),
  usage: z.object({
    requests_remaining: perMinute.describe('Signed calls left after this one.'),
    writes_30d: count,
  }),
})
export type OwnPartner = z.infer<typeof ownPartner>

export const ownSubscription = model('OwnSubscription', {
  handle: partnerHandle,
  tier: tierName,
  status: z.enum(subscriptionStatuses),
  ...subscriptionFields,
  change: z.object({
    kind: z.enum(['paid', 'free', 'cancelled']),
    tier: tierName,
    paid_usdc: usdc,
    from: time.nullable(),
    until: time.nullable(),
    payer: wallet.nullable().describe('The wallet that pays. Any wallet may pay.'),
    tx_hash: text(66).nullable(),
  }),
})
export type OwnSubscription = z.infer<typeof ownSubscription>

export const subscriptionBody = bodyModel('SubscriptionChange', { tier: tierName })

export const signupAnswer = model('PartnerSignupAnswer', {
  ...partnerFields,
  payment: z
    .object({
      price_usdc: usdc,
      tier: tierName,
      pay_to: url,
      accepts_v1: list(acceptedV1, 4),
      accepts_v2: list(acceptedV2, 4),
    })
    .optional(),
})
export type SignupAnswer = z.infer<typeof signupAnswer>

const profile = {
  display_name: nameInput.describe('The public name.'),
  website: httpsInput.describe('A page about the partner.'),
  bio_short: textInput(280).describe('At most 280 characters.'),
  skills: distinctSkills.describe('Slugs of the taxonomy, or others.'),
}

export const signupBody = bodyModel('PartnerSignup', {
  handle: partnerHandle
    .refine(isFreeHandle, 'is reserved')
    .describe('Words used in paths, such as `signup`, are reserved.'),
  display_name: profile.display_name,
  tier: tierName,
  email: z.email().max(254).optional().describe('For the operator only; never returned.'),
  skills: profile.skills.optional(),
  website: profile.website.optional(),
  bio_short: profile.bio_short.optional(),
  timestamp: timeInput,
  oath_signature: signatureInput.describe(
    'Signature over the partner oath of `/oaths`, filled in with the wallet of the credentials and `timestamp`.',
  ),
})
export type SignupBody = z.infer<typeof signupBody>

export const partnerChanges = named(
  'PartnerChanges',
  z
    .strictObject({
      display_name: profile.display_name.optional(),
      website: profile.website.nullable().optional(),
      bio_short: profile.bio_short.nullable().optional(),
      skills: profile.skills.optional(),
      require_body_signature: z
        .boolean()
        .optional()
        .describe('Set only by a request whose signature covers the body.'),
    })
    .refine((changes) => Object.keys(changes).length > 0, 'must change something'),
)
export type PartnerChanges = z.infer<typeof partnerChanges>

export const attestationBody = bodyModel('AttestationEndpoint', {
  url: z
    .string()
    .min(1)
    .max(2048)
    .describe('https on port 443 with a host name, without user name, password or fragment.'),
  ...signedFields,
})
export type AttestationBody = z.infer<typeof attestationBody>

export const partnerWalletBody = bodyModel('PartnerWallet', {
  ...signedFields,
  wallet: signedFields.wallet.describe('The new wallet, which signs the message.'),
})
export type PartnerWalletBody = z.infer<typeof partnerWalletBody>

export const oathEntry = model('OathEntry', {
  kind: z
    .enum(['worker', 'claim', 'partner', 'write'])
    .describe('The kind of the signed oath; `write` for a signed write without an oath.'),
  action: text(100),
  wallet,
  message_sha256: sha256Hex,
  signature_sha256: sha256Hex,
  binding: z.enum(['path', 'body', 'statement']),
  time,
})
export type OathEntry = z.infer<typeof oathEntry>

export const oathHistory = model('OathHistory', {
  ...pageFields,
  oaths: list(oathEntry, 200),
})
