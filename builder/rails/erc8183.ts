/** ERC-8183 escrow of the BNB Chain agent SDK: jobs paid after an evaluator completed them. */
import { parseAbi } from 'viem'
import type { Address } from 'viem'

import { selectors } from '../chain/logs.ts'
import type { LogChunk } from '../chain/logs.ts'
import { defineLogRail, reduceStream } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'
import type { StreamPayout } from './streams.ts'

/** bnb-chain/bnbagent-sdk python/bnbagent/networks/addresses.py; events: bnb-chain/apex-contracts. */
const commerce: Address = '0xea4daa3100a767e86fded867729ae7446476eba6'
export const commerceEvents = parseAbi([
  'event JobFunded(uint256 indexed jobId, address indexed client, address indexed provider, uint256 amount)',
  'event PaymentReleased(uint256 indexed jobId, address indexed provider, uint256 amount)',
])

/** The client of each funded job by its id, since a payment names only the provider; `remember` is for later chunks. */
export function clientsOf(
  memory: ReadonlyMap<string, number>,
  funded: readonly {
    readonly block: number
    readonly args: { readonly jobId: bigint; readonly client: Address }
  }[],
) {
  const remember = new Map(
    funded.map(({ block, args }) => [`${args.jobId} ${args.client.toLowerCase()}`, block]),
  )
  const clients = new Map(
    [...memory.keys(), ...remember.keys()].map((entry) => {
      const [jobId = '', client = ''] = entry.split(' ')
      return [jobId, client]
    }),
  )
  return { clients, remember }
}

function chunkPayouts(
  { logs }: LogChunk<typeof commerceEvents>,
  memory: ReadonlyMap<string, number>,
): ChunkPayouts<'payments'> {
  const { clients, remember } = clientsOf(
    memory,
    logs.flatMap(({ event, block }) =>
      event.eventName === 'JobFunded' ? [{ block, args: event.args }] : [],
    ),
  )
  const payouts = logs.flatMap((log): StreamPayout<'payments'>[] => {
    const { eventName, args } = log.event
    if (eventName !== 'PaymentReleased') return []
    const { amount: units, provider } = args
    const client = clients.get(String(args.jobId)) ?? null
    const removedBy = client === provider.toLowerCase() ? 'self_dealing' : null
    return [['payments', payoutAt(log, client, provider, { units, removedBy })]]
  })
  return { payouts, remember }
}

export const erc8183Bnb = defineLogRail({
  rail: 'erc8183_bnb',
  rule: {
    name: 'payments-released',
    version: '1',
    text:
      'Volume is the amount of every PaymentReleased of the AgenticCommerce contract on BNB Smart Chain, after the fee of the platform, in U (United Stables) at 1 USD. ' +
      'Creators are the clients of paid jobs, as JobFunded names them; a client who funded a job before the first block that was read is unknown. Removed: jobs whose ' +
      'client is their provider (self_dealing). Refunds and funds of open jobs are not counted. Windows are whole hours.',
  },
  chain: 'bsc',
  streams: { payments: { decimals: 18 } },
  abi: commerceEvents,
  filters: [{ addresses: [commerce], topics: [selectors(commerceEvents)] }],
  toPayouts: (chunk, _, memory) => chunkPayouts(chunk, memory),
  reduce: (aggregated, window) => reduceStream(aggregated, 'payments', window),
})
