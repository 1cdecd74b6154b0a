/** Rails read over HTTP, and x402 on Solana, in the order of the ledger. */
import type { AnyRailAdapter } from './adapter.ts'
import { agentverse } from './agentverse.ts'
import { apify } from './apify.ts'
import { bountybook } from './bountybook.ts'
import { near } from './near.ts'
import { opire } from './opire.ts'
import { sherlock } from './sherlock.ts'
import { smithery } from './smithery.ts'
import { sokosumi } from './sokosumi.ts'
import { solanaRegistry } from './solana_registry.ts'
import { superteamEarn } from './superteam_earn.ts'
import { taskmarket } from './taskmarket.ts'
import { toku } from './toku.ts'
import { x402Bazaar } from './x402_bazaar.ts'
import { x402Solana } from './x402_solana.ts'

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
]
