/** Olas mech marketplace on Gnosis: earnings of mechs, requests and withdrawals. */
import { formatUnits, parseAbi } from 'viem'
import type { Address } from 'viem'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { selectors } from '../chain/logs.ts'
import type { DecodedLog, LogChunk } from '../chain/logs.ts'
import { defineRail } from './adapter.ts'
import { aggregateLogs, monthOf } from './aggregated-logs.ts'
import type { ChunkPayouts, AggregatedLogs } from './aggregated-logs.ts'
import { payoutAt, topShare, totalsOf } from './payouts.ts'
import type { Payout } from './payouts.ts'
import type { Window } from './window.ts'

const marketplace: Address = '0x735FAAb1c4Ec41128c367AFb5c3baC73509f70bB'
/** Contracts that track the balances of mechs, one per payment method; lower case. */
const trackers = {
  native: '0x21ce6799a22a3da84b7c44a814a9c79ab1d2a50d',
  olas: '0x53bd432516707a5212a70216284a99a563aac1d1',
  nvm: '0x7d686bd1fd3cff6e45a40165154d61043af7d67c',
} as const satisfies Record<string, Address>

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

type Tracker = keyof typeof trackers
type Stream = Tracker | 'deliveries' | 'requests' | 'charges' | 'withdrawals'
const trackerNames = ['native', 'olas', 'nvm'] as const satisfies readonly Tracker[]

/** Returns null for a log that no figure counts. */
function streamEntry(log: OlasLog): readonly [Stream, Payout] | null {
  const { event } = log
  switch (event.eventName) {
    case 'MechBalanceAdjusted': {
      const tracker = trackerNames.find((name) => trackers[name] === log.address)
      const { mech, deliveryRate: units } = event.args
      return tracker === undefined ? null : [tracker, payoutAt(log, null, mech, { units })]
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

function chunkPayouts(chunk: LogChunk<typeof olasEvents>): ChunkPayouts<Stream> {
  const payouts: Partial<Record<Stream, Payout[]>> = {}
  for (const log of chunk.logs) {
    const entry = streamEntry(log)
    if (entry !== null) (payouts[entry[0]] ??= []).push(entry[1])
  }
  return { payouts }
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
      `Mechs also earned ${nvm.keptUnits} base units of Nevermined credits in 30 days (bookings: ${nvm.count}), which the volume leaves out.`,
    )
  }
  return notes
}

export const olas = defineRail({
  rail: 'olas',
  rule: {
    name: 'mech-balances',
    version: '1',
    text:
      'Volume is the deliveryRate of MechBalanceAdjusted in the native balance tracker, xDAI at 1 USD. OLAS and Nevermined credits have no dated price here: they ' +
      'stand in the notes, and the volume is a floor. Nothing is removed, since a booking does not name who asked: raw and published volume are equal. Creators are ' +
      'the requesters of MarketplaceRequest and of signed deliveries; those with a budget are the ones a tracker charged. Workers and the top share go by delivered ' +
      'requests, and above 90 % for one mech the rail is concentrated. The last payout is the newest Withdraw. Windows are whole hours.',
  },
  chains: ['gnosis'],
  read: async (ctx) =>
    await aggregateLogs<typeof olasEvents, Stream>(ctx, {
      chain: 'gnosis',
      streams: [...trackerNames, 'deliveries', 'requests', 'charges', 'withdrawals'],
      abi: olasEvents,
      filters: [
        { addresses: Object.values(trackers), topics: [selectors(trackerEvents)] },
        { addresses: [marketplace], topics: [selectors(marketplaceEvents)] },
      ],
      toPayouts: async (chunk) => await Promise.resolve(chunkPayouts(chunk)),
    }),
  reduce: (aggregated, window) => {
    const deliveries = monthOf(aggregated, 'deliveries', window)
    const month = monthOf(aggregated, 'native', window)
    const tpv30dMicroUsdc = microFromBaseUnits(month.keptUnits, 18)
    const week = totalsOf(aggregated.streams.native.buckets, window.start7dMs, window.endMs)
    const tpv7dMicroUsdc = microFromBaseUnits(week.keptUnits, 18)
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
      notes: unpricedNotes(aggregated, window),
      evidence: aggregated.evidence,
    }
  },
})
