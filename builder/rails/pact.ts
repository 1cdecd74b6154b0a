/** PACT escrow on Arbitrum: approved and released pacts, valued by the PACT that left the escrow. */
import { formatUnits, parseAbi } from 'viem'
import type { Address } from 'viem'

import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { addressTopic, transferTopic } from '../../src/core/abi.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { decodePact, getPactCall, pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowPact } from '../../src/core/pact/escrow.ts'
import { concurrentCalls, selectors } from '../chain/logs.ts'
import type { DecodedLog, LogChunk } from '../chain/logs.ts'
import { transferEvents } from '../chain/usdc-transfers.ts'
import { defineLogRail, monthOf, reduceStream } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'
import type { StreamPayout } from './streams.ts'

const escrow: Address = pactEscrow.address

export const escrowEvents = parseAbi([
  'event PactCreated(uint256 indexed pactId, address indexed creator, address indexed recipient, address arbitrator, uint256 amount, uint256 arbitratorFee, uint256 deadline, uint256 disputeWindow, uint256 arbitrationWindow)',
  'event PactApproved(uint256 indexed pactId, address indexed creator)',
  'event PactReleased(uint256 indexed pactId, address indexed recipient, uint256 amount)',
])
const pactEvents = [...escrowEvents, ...transferEvents] as const
type Parties = Pick<EscrowPact, 'creator' | 'recipient'>
type PactLog = DecodedLog<typeof pactEvents>
type Stream = 'payments' | 'created'

/** Reads the parties from the escrow's record, since approval logs do not contain the recipient. */
async function readParties(reader: ChainReader, pactId: bigint): Promise<Parties> {
  const call = { to: escrow, data: getPactCall(Number(pactId)) }
  const pact = await reader.view(call, decodePact)
  if (pact === null) throw new ChainError(`${reader.name} RPC: the escrow has no pact ${pactId}`)
  return pact
}

/** Removes and returns the transfer that paid the recipient in this transaction: each pays one pact. */
function takeTransfer(transfers: PactLog[], txHash: string, recipient: string): bigint | null {
  const at = transfers.findIndex(
    (log) =>
      log.event.eventName === 'Transfer' &&
      log.txHash === txHash &&
      log.event.args.to.toLowerCase() === recipient,
  )
  const [transfer] = at === -1 ? [] : transfers.splice(at, 1)
  return transfer?.event.eventName === 'Transfer' ? transfer.event.args.value : null
}

async function chunkPayouts(
  chunk: LogChunk<typeof pactEvents>,
  reader: ChainReader,
  memory: ReadonlyMap<string, number>,
): Promise<ChunkPayouts<Stream>> {
  const parties = new Map<bigint, Parties>()
  await mapConcurrent(chunk.logs, concurrentCalls, async ({ event }) => {
    if (event.eventName === 'PactApproved' || event.eventName === 'PactReleased') {
      parties.set(event.args.pactId, await readParties(reader, event.args.pactId))
    }
  })
  const transfers = chunk.logs.filter(({ event }) => event.eventName === 'Transfer')
  const paid = new Map<string, number>()
  const payouts: StreamPayout<Stream>[] = []
  for (const log of chunk.logs) {
    const { event } = log
    if (event.eventName === 'Transfer') continue
    if (event.eventName === 'PactCreated') {
      payouts.push(['created', payoutAt(log, event.args.creator, event.args.recipient)])
      continue
    }
    const id = String(event.args.pactId)
    const pact = parties.get(event.args.pactId)
    if (pact === undefined || paid.has(id) || memory.has(id)) continue
    const units = takeTransfer(transfers, log.txHash, pact.recipient)
    if (units === null) continue
    paid.set(id, log.block)
    const removedBy = pact.creator === pact.recipient ? 'self_dealing' : null
    const payout = payoutAt(log, pact.creator, pact.recipient, { units, removedBy })
    payouts.push(['payments', payout])
  }
  return { payouts, remember: paid }
}

export const pact = defineLogRail({
  rail: 'pact',
  rule: {
    name: 'pact-transfers',
    version: '1',
    text:
      'A payout is the PACT that leaves the escrow for the recipient in the transaction of PactApproved or PactReleased; each pact is paid once, whichever comes ' +
      'first. Payments after arbitration are not counted. PACT has one thin pool and no dated price here, so the volume in USDC is unknown and the amount in PACT ' +
      'stands in the notes; the top share is taken of PACT. Removed: pacts whose creator is their recipient (self_dealing). Windows are whole hours.',
  },
  chain: 'arbitrum',
  streams: { payments: 'unpriced', created: 'events' },
  abi: pactEvents,
  chunkBlocks: 100_000,
  filters: [
    { addresses: [escrow], topics: [selectors(escrowEvents)] },
    { addresses: [pactEscrow.token], topics: [[transferTopic], [addressTopic(escrow)]] },
  ],
  toPayouts: chunkPayouts,
  reduce: (aggregated, window) => {
    const month = monthOf(aggregated, 'payments', window)
    const created = monthOf(aggregated, 'created', window)
    const notes = [`Pacts created in 30 days: ${created.count}.`]
    if (month.count > 0) {
      notes.push(
        `${formatUnits(month.keptUnits, 18)} PACT paid in 30 days (pacts: ${month.count}); no price rule, so the volume in USDC is unknown.`,
      )
    }
    return reduceStream(aggregated, 'payments', window, { notes })
  },
})
