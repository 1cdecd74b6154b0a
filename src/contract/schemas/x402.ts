import { z } from 'zod'

import { acceptedV1, acceptedV2 } from '../x402.ts'
import { model, url, usdc, wallet, list, text } from './common.ts'
import { tierName } from './partner.ts'

const offer = model('X402Offer', {
  id: text(60).describe('The operationId.'),
  method: z.enum(['GET', 'POST']),
  resource: url.describe('The paid address; its path parameters are examples.'),
  path: text(200).describe('The path with its parameters in braces.'),
  description: text(500),
  mime_type: text(100),
  price_usdc: usdc.describe('For one answer.'),
  covered_by: list(tierName, 16),
  accepts_v1: list(acceptedV1, 4),
  accepts_v2: list(acceptedV2, 4),
})

export const settlementWay = z.enum(['off', 'local', 'facilitator'])

/** The draft `well-known-discovery` of the x402 project. */
const manifestItem = z.object({
  resource: z.looseObject({ url }).describe('The address, with `:name` for parameters.'),
  type: z.enum(['http']).describe('Transport.'),
  accepts: list(acceptedV2, 4).describe('Advisory; the answer 402 is authoritative.'),
  input: z.looseObject({ method: z.enum(['GET']) }).describe('How to call it, as JSON Schema.'),
  output: z.looseObject({ mimeType: text(100) }).describe('The answer, as JSON Schema.'),
})

/**
 * Discovery document of paid requests. `version` and `resources` follow the common convention; `x402Version`,
 * `lastUpdated` and `items` the draft.
 */
export const x402Discovery = model('X402Discovery', {
  version: z.int().min(1).max(1).describe('Version of this document format.'),
  x402_versions: list(z.int().min(1).max(2), 2),
  payable: z.boolean(),
  settlement: settlementWay,
  receiver: wallet.nullable(),
  resources: list(url, 64),
  offers: list(offer, 64),
  subscriptions: list(
    z.object({
      tier: tierName,
      method: z.enum(['POST']),
      resource: url,
      price_usdc_month: usdc.describe('Price of 30 days.'),
    }),
    16,
  ).describe('For partners; the answer 402 contains the terms.'),
  x402Version: z.int().min(2).max(2).describe('Version of `items`.'),
  lastUpdated: z.int().min(0).describe('Unix seconds.'),
  items: list(manifestItem, 64).describe('The paid reads for catalogues; empty if not payable.'),
  instructions: text(1000),
  docs: url,
})
export type X402Discovery = z.infer<typeof x402Discovery>
