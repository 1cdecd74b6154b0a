/** Each reading repeats the blocks above the final one, so that logs of reorganised blocks disappear. */
import { parseAbi } from 'viem'

import { ChainError } from '../../src/chain/errors.ts'
import { readHeader } from '../../src/chain/node.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import type { BlockHeader } from '../../src/chain/values.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { logsAgainstState } from '../../src/core/pact/disagreements.ts'
import { decodePact, getPactCall, pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowPact } from '../../src/core/pact/escrow.ts'
import { escrowEventKinds } from '../../src/core/pact/sources.ts'
import type { EscrowEvent, PactOnChain } from '../../src/core/pact/sources.ts'
import { minuteMs, secondMs } from '../../src/core/time.ts'
import type { ReadEscrow, StoredReading } from '../../src/db/pacts.ts'
import { concurrentCalls, readLogs, selectors } from './logs.ts'
import type { DecodedLog } from './logs.ts'

export const escrowAbi = parseAbi([
  'event PactCreated(uint256 indexed pactId, address indexed creator, address indexed recipient, address arbitrator, uint256 amount, uint256 arbitratorFee, uint256 deadline, uint256 disputeWindow, uint256 arbitrationWindow)',
  'event WorkSubmitted(uint256 indexed pactId, address indexed recipient, bytes32 workHash)',
  'event PactApproved(uint256 indexed pactId, address indexed creator)',
  'event PactReleased(uint256 indexed pactId, address indexed recipient, uint256 amount)',
  'event PactRefunded(uint256 indexed pactId, address indexed creator, uint256 amount)',
  'event PactDisputed(uint256 indexed pactId, address indexed creator)',
  'event ArbitrationRuled(uint256 indexed pactId, address indexed arbitrator, bool favorRecipient)',
  'event ArbitrationFinalized(uint256 indexed pactId)',
])

const nextPactIdCall = '0x90c0686d'
const chunkBlocks = 100_000
/** Maximum age of the newest block: an older one would show outdated phases. */
const maxHeadAgeMs = 60 * minuteMs
const maxGapsPerRun = 200
const terminal: readonly EscrowPact['status'][] = ['Completed', 'Refunded', 'Arbitrated']

/** The answers of a node contradict each other or earlier ones, so nothing from this reading is stored. */
export class EscrowContradiction extends ChainError {
  /** What contradicts each other. */
  readonly between: string

  constructor(between: string, message: string) {
    super(message)
    this.between = between
  }
}

interface EscrowReadRequest {
  readonly reader: ChainReader
  readonly nowMs: number
  readonly signal: AbortSignal
  readonly stored: StoredReading | null
  readonly known: ReadonlyMap<number, PactOnChain>
  /** True ends the reading after its current blocks; the next one continues there. */
  readonly isEnough: () => boolean
}

export interface EscrowReadResult extends ReadEscrow {
  /** Stored logs above it are replaced. */
  readonly aboveBlock: number
  /** Set if the first reading ended early; the logs that were read before the failure are stored. */
  readonly failure: ChainError | null
}

/** @throws ChainError if the node fails, lags, serves another chain or contradicts itself or its earlier answers */
export async function readEscrow(request: EscrowReadRequest): Promise<EscrowReadResult> {
  const { reader, stored, nowMs } = request
  const [head, final] = [await readHeader(reader, 'latest'), await readHeader(reader, 'finalized')]
  const ageMs = nowMs - head.timestamp * secondMs
  if (ageMs > maxHeadAgeMs) {
    const minutes = Math.round(ageMs / minuteMs)
    throw new ChainError(
      `arbitrum RPC is behind: the head ${head.number} is ${minutes} minutes old`,
    )
  }
  if (final.number > head.number)
    throw new ChainError('arbitrum RPC: the final block is above the head')
  await requireSamePast(reader, stored, final.number)
  if ((await reader.call('eth_getCode', [pactEscrow.address, 'latest'])) === '0x')
    throw new ChainError('arbitrum RPC: there is no contract at the escrow address')
  const firstBlock = head.number < pactEscrow.firstBlock ? 0 : pactEscrow.firstBlock
  const aboveBlock = stored?.finalBlock ?? firstBlock - 1
  const { events, doneTo, failure } = await readEvents(request, aboveBlock + 1, head.number)
  const caughtUp = doneTo === head.number && !request.isEnough()
  const finalBlock = Math.min(final.number, doneTo)
  const states = caughtUp ? await readStates(request, events, aboveBlock, head) : new Map()
  const anchor = finalBlock === final.number ? final : await readHeader(reader, finalBlock)
  const after = await readHeader(reader, head.number)
  if (after.hash !== head.hash) {
    throw new ChainError(`arbitrum RPC: block ${head.number} was reorganised while it was read`)
  }
  return {
    aboveBlock,
    events,
    states,
    failure,
    reading: { toBlock: doneTo, finalBlock, finalHash: anchor.hash, caughtUp },
  }
}

/** @throws ChainError if the block that was final at the last reading is no longer final */
async function requireSamePast(
  reader: ChainReader,
  stored: StoredReading | null,
  finalBlock: number,
): Promise<void> {
  if (stored === null) return
  if (finalBlock < stored.finalBlock) {
    throw new ChainError(
      `arbitrum RPC is behind: block ${stored.finalBlock} was final, but its final block is now ${finalBlock}`,
    )
  }
  const { hash } = await readHeader(reader, stored.finalBlock)
  if (hash === stored.finalHash) return
  throw new EscrowContradiction(
    'two readings of the chain',
    `arbitrum RPC: the final block ${stored.finalBlock} has changed its hash`,
  )
}

async function readEvents(
  { reader, signal, stored, isEnough }: EscrowReadRequest,
  fromBlock: number,
  head: number,
): Promise<Pick<EscrowReadResult, 'events' | 'failure'> & { readonly doneTo: number }> {
  const events: EscrowEvent[] = []
  let doneTo = fromBlock - 1
  try {
    await readLogs({
      reader,
      abi: escrowAbi,
      filters: [{ addresses: [pactEscrow.address], topics: [selectors(escrowAbi)] }],
      fromBlock,
      toBlock: head,
      chunkBlocks,
      signal,
      isEnough,
      onChunk: async ({ logs, exactTimes, toBlock }) => {
        const found = logs.flatMap((log) => eventOf(log) ?? [])
        const dated = await mapConcurrent(found, concurrentCalls, async (event) => {
          return exactTimes ? event : { ...event, atMs: await reader.blockTime(event.block) }
        })
        events.push(...dated)
        doneTo = toBlock
      },
    })
  } catch (error) {
    const isCatchingUp = stored?.caughtUp !== true && doneTo >= fromBlock
    if (isCatchingUp && error instanceof ChainError) return { events, doneTo, failure: error }
    throw error
  }
  return { events, doneTo, failure: null }
}

const maxPactId = 999_999_999n
/** Returns null for ids that no record can have: 0, and ids with more than nine digits. */
function eventOf({ event, block, logIndex, txHash, atMs }: DecodedLog<typeof escrowAbi>) {
  const { pactId } = event.args
  if (pactId < 1n || pactId > maxPactId) return null
  return {
    pactId: Number(pactId),
    kind: escrowEventKinds[event.eventName],
    block,
    logIndex,
    txHash,
    atMs,
    workHash: event.eventName === 'WorkSubmitted' ? event.args.workHash.toLowerCase() : null,
    favorRecipient: event.eventName === 'ArbitrationRuled' ? event.args.favorRecipient : null,
  } satisfies EscrowEvent
}

/** Reads the states at the head for pacts that may have changed and for ids without logs. */
async function readStates(
  { reader, known }: EscrowReadRequest,
  events: readonly EscrowEvent[],
  aboveBlock: number,
  head: BlockHeader,
): Promise<ReadonlyMap<number, EscrowPact | null>> {
  const pacts = mergeEvents(known, events, aboveBlock)
  const states = new Map<number, EscrowPact | null>()
  const moving = [...pacts].flatMap(([pactId, { events: logs, state }]) => {
    const settled = state !== null && terminal.includes(state.status)
    return settled && logs.every(({ block }) => block <= aboveBlock) ? [] : [pactId]
  })
  const gaps = await idsWithoutLogs(reader, pacts, head.number)
  await mapConcurrent([...moving, ...gaps], concurrentCalls, async (pactId) => {
    const call = { to: pactEscrow.address, data: getPactCall(pactId), block: head.number }
    states.set(pactId, await reader.view(call, decodePact))
  })
  for (const [pactId, state] of states) {
    const problem = logsAgainstState({ events: pacts.get(pactId)?.events ?? [], state })
    if (problem === null) continue
    throw new EscrowContradiction(
      'logs and getPact',
      `arbitrum RPC contradicts itself about pact ${pactId} at block ${head.number}: ${problem}`,
    )
  }
  for (const pactId of gaps) states.delete(pactId)
  return states
}

function mergeEvents(
  known: ReadonlyMap<number, PactOnChain>,
  events: readonly EscrowEvent[],
  aboveBlock: number,
): ReadonlyMap<number, PactOnChain> {
  const pacts = new Map<number, PactOnChain>()
  for (const [pactId, { events: logs, state }] of known) {
    const kept = logs.filter(({ block }) => block <= aboveBlock)
    if (kept.length > 0) pacts.set(pactId, { events: kept, state })
  }
  for (const event of events) {
    const before = pacts.get(event.pactId) ?? { events: [], state: null }
    pacts.set(event.pactId, { ...before, events: [...before.events, event] })
  }
  return pacts
}

async function idsWithoutLogs(
  reader: ChainReader,
  pacts: ReadonlyMap<number, PactOnChain>,
  block: number,
): Promise<readonly number[]> {
  const call = { to: pactEscrow.address, data: nextPactIdCall, block } as const
  const next = await reader.view(call, BigInt)
  const numbers: number[] = []
  for (let id = next > maxPactId ? maxPactId : next - 1n; id > 0n; id -= 1n) {
    if (numbers.length >= maxGapsPerRun) break
    if (!pacts.has(Number(id))) numbers.push(Number(id))
  }
  return numbers
}
