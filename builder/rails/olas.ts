/** Olas mech marketplaces: earnings of mechs, requests and withdrawals. */
import { formatUnits, parseAbi } from 'viem'
import { z } from 'zod'

import { address } from '../../src/chain/values.ts'
import { selectors } from '../chain/logs.ts'
import type { DecodedLog } from '../chain/logs.ts'
import type { AnyRailAdapter } from './adapter.ts'
import { defineLogRail, monthOf } from './aggregated-logs.ts'
import places from './olas-marketplaces.json' with { type: 'json' }
import { addKnown } from './payout-hour.ts'
import { payoutAt, topShare, totalsOf } from './payouts.ts'
import type { AggregatedLogs, StreamPayout } from './streams.ts'
import type { Window } from './window.ts'

const trackerNames = ['native', 'usdc', 'olas', 'nvm'] as const
const olasPlace = z.object({
  rail: z.string(),
  chain: z.enum(['gnosis', 'base', 'polygon', 'optimism', 'ethereum', 'arbitrum', 'celo']),
  coin: z.string(),
  /** Null if the coin is a dollar. */
  priceFeed: address.nullable(),
  marketplace: address,
  /** Contracts that track the balances of mechs, one per payment method. */
  trackers: z.partialRecord(z.enum(trackerNames), address),
})
type OlasPlace = z.infer<typeof olasPlace>

export const trackerEvents = parseAbi([
  'event MechBalanceAdjusted(address indexed mech, uint256 deliveryRate, uint256 balance, uint256 rateDiff)',
  'event RequesterBalanceAdjusted(address indexed requester, uint256 deliveryRate, uint256 balance)',
  'event Withdraw(address indexed account, address indexed token, uint256 amount)',
])
export const marketplaceEvents = parseAbi([
  'event MarketplaceRequest(address indexed priorityMech, address indexed requester, uint256 numRequests, bytes32[] requestIds)',
  'event MarketplaceDelivery(address indexed deliveryMech, address[] indexed requesters, uint256 numDeliveries, bytes32[] requestIds, bool[] deliveredRequests)',
  'event MarketplaceDeliveryWithSignatures(address indexed deliveryMech, address indexed requester, uint256 numDeliveries, bytes32[] requestIds)',
])
const olasEvents = [...trackerEvents, ...marketplaceEvents] as const
type OlasLog = DecodedLog<typeof olasEvents>

type Stream = (typeof trackerNames)[number] | 'deliveries' | 'requests' | 'charges' | 'withdrawals'

/** Returns null for a log that no figure counts. */
function streamEntry(log: OlasLog, trackers: OlasPlace['trackers']): StreamPayout<Stream> | null {
  const { event } = log
  switch (event.eventName) {
    case 'MechBalanceAdjusted': {
      const tracker = trackerNames.find((name) => trackers[name] === log.address)
      const { mech, deliveryRate: units } = event.args
      if (tracker === undefined) return null
      return [tracker, payoutAt(log, null, mech, { units })]
    }
    case 'RequesterBalanceAdjusted':
      return ['charges', payoutAt(log, event.args.requester, event.args.requester, { units: 0n })]
    case 'Withdraw':
      return ['withdrawals', payoutAt(log, null, event.args.account, { units: 0n })]
    case 'MarketplaceRequest': {
      const { requester, priorityMech, numRequests: units } = event.args
      return ['requests', payoutAt(log, requester, priorityMech, { units })]
    }
    case 'MarketplaceDelivery': {
      // The requesters are an indexed array, of which a log contains only the hash.
      const { deliveryMech, deliveredRequests } = event.args
      const units = BigInt(deliveredRequests.filter(Boolean).length)
      return units === 0n ? null : ['deliveries', payoutAt(log, null, deliveryMech, { units })]
    }
    case 'MarketplaceDeliveryWithSignatures': {
      const { deliveryMech, requester, numDeliveries: units } = event.args
      return ['deliveries', payoutAt(log, requester, deliveryMech, { units })]
    }
    default:
      return null
  }
}

function unpricedNotes(aggregated: AggregatedLogs<Stream>, window: Window): readonly string[] {
  const olas = monthOf(aggregated, 'olas', window).keptUnits
  const nvm = monthOf(aggregated, 'nvm', window)
  const notes: string[] = []
  if (olas > 0n)
    notes.push(
      `Mechs also earned ${formatUnits(olas, 18)} OLAS in 30 days, which the volume excludes because no dated price is available.`,
    )
  if (nvm.count > 0) {
    notes.push(
      `Mechs also earned ${nvm.keptUnits} base units of Nevermined credits in 30 days (bookings: ${nvm.count}), which the volume excludes.`,
    )
  }
  return notes
}

function olasOn(place: OlasPlace): AnyRailAdapter {
  const { rail, chain, marketplace, trackers, coin, priceFeed } = place
  const priced =
    priceFeed === null
      ? `the native balance tracker, ${coin} at 1 USD`
      : `the USDC balance tracker, and in the native one, ${coin} at the price of the chain's Chainlink feed at the last block of the range in which the poll found it (at most about five hours later; a price older than one day leaves the volume unknown)`
  return defineLogRail<typeof olasEvents, Stream>({
    rail,
    rule: {
      name: 'mech-balances',
      version: '1',
      text:
        `Volume is the deliveryRate of MechBalanceAdjusted in ${priced}. OLAS and Nevermined credits have no dated price here: they ` +
        'stand in the notes, and the volume is a floor. Nothing is removed, since a booking does not name who asked: raw and published volume are equal. Creators are ' +
        'the requesters of MarketplaceRequest and of signed deliveries; those with a budget are the ones a tracker charged. Workers and the top share go by delivered ' +
        'requests, and above 90 % for one mech the rail is concentrated. The last payout is the newest Withdraw. Windows are whole hours.',
    },
    chain,
    streams: {
      native: priceFeed === null ? { decimals: 18 } : { feed: priceFeed },
      usdc: { decimals: 6 },
      olas: 'events',
      nvm: 'events',
      deliveries: 'events',
      requests: 'events',
      charges: 'events',
      withdrawals: 'events',
    },
    abi: olasEvents,
    filters: [
      { addresses: Object.values(trackers), topics: [selectors(trackerEvents)] },
      { addresses: [marketplace], topics: [selectors(marketplaceEvents)] },
    ],
    toPayouts: ({ logs }) => ({
      payouts: logs.map((log) => streamEntry(log, trackers)).filter((entry) => entry !== null),
    }),
    reduce: (aggregated, window) => {
      const deliveries = monthOf(aggregated, 'deliveries', window)
      const volumeSince = (startMs: number) =>
        (['native', 'usdc'] as const)
          .map((name) => totalsOf(aggregated.streams[name].buckets, startMs, window.endMs))
          .reduce<number | null>((sum, { keptMicroUsdc }) => addKnown(sum, keptMicroUsdc), 0)
      const tpv30dMicroUsdc = volumeSince(window.start30dMs)
      const tpv7dMicroUsdc = volumeSince(window.start7dMs)
      const creators = new Set([
        ...monthOf(aggregated, 'requests', window).payers.keys(),
        ...deliveries.payers.keys(),
      ])
      return {
        figures: {
          tpv30dMicroUsdc,
          tpv7dMicroUsdc,
          tpv30dRawMicroUsdc: tpv30dMicroUsdc,
          tpv7dRawMicroUsdc: tpv7dMicroUsdc,
          uniqueCreators30d: creators.size,
          uniqueWorkers30d: deliveries.payees.size,
          topWorkerShare: topShare(deliveries),
          creatorsWithBudget30d: monthOf(aggregated, 'charges', window).payers.size,
          activity30d: Number(deliveries.keptUnits),
          lastPayoutAtMs: aggregated.streams.withdrawals.lastPayoutAtMs,
        },
        notes: [...unpricedNotes(aggregated, window), ...aggregated.notes],
        evidence: aggregated.evidence,
      }
    },
  })
}

/** The marketplaces on Gnosis, Base, Polygon, OP Mainnet, Ethereum, Arbitrum and Celo. */
export const olasRails: readonly AnyRailAdapter[] = z
  .array(olasPlace)
  .parse(places.marketplaces)
  .map(olasOn)
