/** ERC-8004 registries on Ethereum and Base: registrations and feedback. The registries process no payments. */
import { parseAbi } from 'viem'
import type { Address } from 'viem'

import { selectors } from '../chain/logs.ts'
import type { AnyRailAdapter } from './adapter.ts'
import { defineLogRail, monthOf } from './aggregated-logs.ts'
import { payoutAt, reducePayouts } from './payouts.ts'

export const identityRegistry: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const reputationRegistry: Address = '0x8004BAa17C55a88189AE136b182e5fdA19dE9b63'

export const identityEvents = parseAbi([
  'event Registered(uint256 indexed agentId, string agentURI, address indexed owner)',
])
export const reputationEvents = parseAbi([
  'event NewFeedback(uint256 indexed agentId, address indexed clientAddress, uint64 feedbackIndex, int128 value, uint8 valueDecimals, string indexed indexedTag1, string tag1, string tag2, string endpoint, string feedbackURI, bytes32 feedbackHash)',
])
const registryEvents = [...identityEvents, ...reputationEvents] as const

function erc8004On(rail: string, chain: 'ethereum' | 'base'): AnyRailAdapter {
  return defineLogRail({
    rail,
    rule: {
      name: 'registry-feedback',
      version: '1',
      text:
        'No payment passes through the ERC-8004 registries, so volume is 0 and there is no last payout. Activity is NewFeedback of the reputation registry: creators are ' +
        'distinct client addresses, workers are distinct agent ids, the top share is of feedback counts. Feedback that was revoked later still counts as activity. ' +
        'Nothing is removed. Windows are whole hours.',
    },
    chain,
    streams: { feedback: 'events', registrations: 'events' },
    abi: registryEvents,
    filters: [
      { addresses: [identityRegistry], topics: [selectors(identityEvents)] },
      { addresses: [reputationRegistry], topics: [selectors(reputationEvents)] },
    ],
    toPayouts: ({ logs }) => ({
      payouts: logs.map((log) => {
        const { eventName, args } = log.event
        return eventName === 'NewFeedback'
          ? ['feedback', payoutAt(log, args.clientAddress, `agent-${args.agentId}`)]
          : ['registrations', payoutAt(log, args.owner, 'registry')]
      }),
    }),
    reduce: (aggregated, window) => {
      const { count, payers } = monthOf(aggregated, 'registrations', window)
      const notes = [
        `${count} agents registered by ${payers.size} owners in 30 days.`,
        ...aggregated.notes,
      ]
      const { buckets } = aggregated.streams.feedback
      const { evidence } = aggregated
      return reducePayouts(buckets, window, { lastPayoutAtMs: null, notes, evidence })
    },
  })
}

export const erc8004 = erc8004On('erc8004', 'ethereum')
export const erc8004Base = erc8004On('erc8004_base', 'base')
