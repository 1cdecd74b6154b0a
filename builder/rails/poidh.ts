/** POIDH on Base, Arbitrum and Ethereum: accepted claims, paid in ETH and priced by the chain's Chainlink feed. */
import { formatEther, isAddressEqual, parseAbi } from 'viem'
import type { Address } from 'viem'

import { selectors } from '../chain/logs.ts'
import type { AnyRailAdapter } from './adapter.ts'
import { defineLogRail, monthOf, reduceStream } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'

export const poidhEvents = parseAbi([
  'event ClaimAccepted(uint256 indexed bountyId, uint256 indexed claimId, address indexed claimIssuer, address bountyIssuer, uint256 bountyAmount, uint256 payout, uint256 fee, uint256 round)',
])
interface PoidhChain {
  readonly rail: string
  readonly chain: 'base' | 'arbitrum' | 'ethereum'
  readonly contract: Address
  readonly priceFeed: Address
}

function poidhOn({ rail, chain, contract, priceFeed }: PoidhChain): AnyRailAdapter {
  return defineLogRail({
    rail,
    rule: {
      name: 'claims-accepted',
      version: '1',
      text:
        "Volume is the payout of every ClaimAccepted of PoidhV3, in ETH at the price of the chain's Chainlink ETH/USD feed at the last block of the range " +
        'in which the poll found it (at most about five hours later), or at the head where the node keeps no older state; one USD is one USDC. A price older than ' +
        'one day leaves the volume unknown. Removed: bounties whose issuer accepted their own claim (self_dealing). Creators are issuers, also of open bounties ' +
        'that others joined. Windows are whole hours.',
    },
    chain,
    streams: { payments: { feed: priceFeed } },
    abi: poidhEvents,
    filters: [{ addresses: [contract], topics: [selectors(poidhEvents)] }],
    toPayouts: ({ logs }) => ({
      payouts: logs.map((log) => {
        const { bountyIssuer, claimIssuer, payout: units } = log.event.args
        const removedBy = isAddressEqual(bountyIssuer, claimIssuer) ? 'self_dealing' : null
        return ['payments', payoutAt(log, bountyIssuer, claimIssuer, { units, removedBy })]
      }),
    }),
    reduce: (aggregated, window) => {
      const { count, keptUnits } = monthOf(aggregated, 'payments', window)
      const notes = count === 0 ? [] : [`${formatEther(keptUnits)} ETH paid in 30 days.`]
      return reduceStream(aggregated, 'payments', window, { notes })
    },
  })
}

export const poidh = poidhOn({
  rail: 'poidh',
  chain: 'base',
  contract: '0x5555fa783936c260f77385b4e153b9725fef1719',
  priceFeed: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
})

export const poidhArbitrum = poidhOn({
  rail: 'poidh_arbitrum',
  chain: 'arbitrum',
  contract: '0x5555fa783936c260f77385b4e153b9725fef1719',
  priceFeed: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
})

export const poidhEthereum = poidhOn({
  rail: 'poidh_ethereum',
  chain: 'ethereum',
  contract: '0xe731dfadbff20542e10d09d26fc71445c70d4232',
  priceFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
})
