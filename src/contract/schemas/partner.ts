import { z } from 'zod'

import { count, model, usdc } from './common.ts'

export const tierName = z.enum(['free', 'starter', 'pro', 'team', 'enterprise'])
export type TierName = z.infer<typeof tierName>

export const tier = model(
  'Tier',
  z.object({
    tier: tierName,
    name: z.string().max(60),
    price_usdc_month: usdc,
    wallet_rate_multiplier: z
      .int()
      .min(1)
      .nullable()
      .describe('Multiple of the per-wallet limit of 300 requests a minute; null means unlimited.'),
    features: z.array(z.string().max(300)).max(32),
    covers: z.array(z.string().max(100)).max(16).describe('Premium reads that the tier includes.'),
  }),
)

export const tierList = model('TierList', z.object({ count, tiers: z.array(tier).max(16) }))

export const oath = model(
  'Oath',
  z.object({
    kind: z.enum(['worker', 'claim', 'partner']),
    version: z.int().min(1).max(1000),
    text: z.string().max(4000).describe('{WALLET} and {TIMESTAMP} are substituted before signing.'),
  }),
)

export const oathList = model('OathList', z.object({ count, oaths: z.array(oath).max(64) }))
