/** Rails read from logs of EVM chains, in the order of the ledger. */
import type { AnyRailAdapter } from './adapter.ts'
import { erc8004, erc8004Base } from './erc8004.ts'
import { olas } from './olas.ts'
import { pact } from './pact.ts'
import { poidh, poidhArbitrum } from './poidh.ts'
import { virtualsAcp } from './virtuals_acp.ts'
import { x402 } from './x402.ts'

export const evmRails: readonly AnyRailAdapter[] = [
  x402,
  virtualsAcp,
  olas,
  pact,
  poidh,
  poidhArbitrum,
  erc8004,
  erc8004Base,
]
