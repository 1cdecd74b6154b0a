import { z } from 'zod'

import { acceptedV1, acceptedV2 } from '../x402.ts'
import { model, url, usdc, wallet } from './common.ts'
import { tierName } from './partner.ts'

const offer = model(
  'X402Offer',
  z.object({
    id: z.string().max(60).describe('The operationId.'),
    method: z.enum(['GET', 'POST']),
    resource: url.describe('An address that can be paid for; parameters of its path are examples.'),
    path: z.string().max(200).describe('The path with its parameters in braces.'),
    description: z.string().max(500),
    mime_type: z.string().max(100),
    price_usdc: usdc.describe('For one answer.'),
    covered_by: z.array(tierName).max(16).describe('Tiers whose partners do not pay for it.'),
    accepts_v1: z.array(acceptedV1).max(4).describe('Empty where payment is not available.'),
    accepts_v2: z.array(acceptedV2).max(4).describe('Empty where payment is not available.'),
  }),
)

export const settlementWay = z.enum(['off', 'local', 'facilitator'])

/** What is sold here, for whoever has never called. `version` and `resources` are the common convention. */
export const x402Discovery = model(
  'X402Discovery',
  z.object({
    version: z.int().min(1).max(1).describe('Of the form of this document.'),
    x402_versions: z.array(z.int().min(1).max(2)).max(2),
    payable: z.boolean().describe('False: nothing can be paid for here now, and nothing is sold.'),
    settlement: settlementWay,
    receiver: wallet.nullable().describe('The address that is paid.'),
    resources: z.array(url).max(64).describe('What can be paid for now; empty where nothing can.'),
    offers: z.array(offer).max(64),
    subscriptions: z
      .array(
        z.object({
          tier: tierName,
          method: z.enum(['POST']),
          resource: url,
          price_usdc_month: usdc.describe('Less on an upgrade: what is unused counts.'),
        }),
      )
      .max(16)
      .describe('For partners; the terms come with the answer 402.'),
    instructions: z.string().max(1000),
    docs: url,
  }),
)
export type X402Discovery = z.infer<typeof x402Discovery>
