import { z } from 'zod'

import { acceptedV1, acceptedV2 } from '../x402.ts'
import { model, url, usdc, wallet } from './common.ts'
import { tierName } from './partner.ts'

const offer = model('X402Offer', {
  id: z.string().max(60).describe('The operationId.'),
  method: z.enum(['GET', 'POST']),
  resource: url.describe('The paid address; its path parameters are examples.'),
  path: z.string().max(200).describe('The path with its parameters in braces.'),
  description: z.string().max(500),
  mime_type: z.string().max(100),
  price_usdc: usdc.describe('For one answer.'),
  covered_by: z.array(tierName).max(16).describe('Tiers that include it.'),
  accepts_v1: z.array(acceptedV1).max(4).describe('Empty if payment is not available.'),
  accepts_v2: z.array(acceptedV2).max(4).describe('Empty if payment is not available.'),
})

export const settlementWay = z.enum(['off', 'local', 'facilitator'])

/** Discovery document of paid requests. `version` and `resources` follow the common convention. */
export const x402Discovery = model('X402Discovery', {
  version: z.int().min(1).max(1).describe('Version of this document format.'),
  x402_versions: z.array(z.int().min(1).max(2)).max(2),
  payable: z.boolean().describe('False if payment is not available and nothing is sold.'),
  settlement: settlementWay,
  receiver: wallet.nullable().describe('The receiving address.'),
  resources: z
    .array(url)
    .max(64)
    .describe('Addresses that can be paid for; empty if payment is not available.'),
  offers: z.array(offer).max(64),
  subscriptions: z
    .array(
      z.object({
        tier: tierName,
        method: z.enum(['POST']),
        resource: url,
        price_usdc_month: usdc.describe('Reduced on an upgrade by the credit for unused time.'),
      }),
    )
    .max(16)
    .describe('For partners; the answer 402 contains the terms.'),
  instructions: z.string().max(1000),
  docs: url,
})
export type X402Discovery = z.infer<typeof x402Discovery>
