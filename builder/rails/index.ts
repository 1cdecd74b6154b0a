/** Every polled rail, in the order of the ledger. The other rails are audited by hand. */
import type { AnyRailAdapter } from './adapter.ts'
import { agentBounties } from './agent_bounties.ts'
import { agentverse } from './agentverse.ts'
import { apify } from './apify.ts'
import { bountybook } from './bountybook.ts'
import { cantina } from './cantina.ts'
import { erc8004, erc8004Base } from './erc8004.ts'
import { erc8183Bnb } from './erc8183.ts'
import { immunefi } from './immunefi.ts'
import { l402 } from './l402.ts'
import { mpp } from './mpp.ts'
import { near } from './near.ts'
import { olasRails } from './olas.ts'
import { opire } from './opire.ts'
import { pact } from './pact.ts'
import { executionMarket, frantic, taskmarket } from './paid-total.ts'
import { poidh, poidhArbitrum, poidhEthereum } from './poidh.ts'
import { sherlock } from './sherlock.ts'
import { smithery } from './smithery.ts'
import { sokosumi } from './sokosumi.ts'
import { solanaRegistry } from './solana_registry.ts'
import { superteamEarn } from './superteam_earn.ts'
import { toku } from './toku.ts'
import { virtualsAcp } from './virtuals_acp.ts'
import { x402, x402Arbitrum, x402Polygon } from './x402.ts'
import { x402Bazaar } from './x402_bazaar.ts'
import { x402Solana } from './x402_solana.ts'

export const evmRails: readonly AnyRailAdapter[] = [
  x402,
  virtualsAcp,
  ...olasRails,
  pact,
  poidh,
  poidhArbitrum,
  poidhEthereum,
  erc8004,
  erc8004Base,
  x402Polygon,
  x402Arbitrum,
  mpp,
  erc8183Bnb,
]

/** Rails read over HTTP, and x402 on Solana. */
export const httpRails: readonly AnyRailAdapter[] = [
  x402Solana,
  superteamEarn,
  x402Bazaar,
  solanaRegistry,
  smithery,
  apify,
  taskmarket,
  near,
  sokosumi,
  bountybook,
  opire,
  sherlock,
  toku,
  agentverse,
  agentBounties,
  frantic,
  executionMarket,
  cantina,
  immunefi,
  l402,
]

export const railAdapters: readonly AnyRailAdapter[] = [...evmRails, ...httpRails]
