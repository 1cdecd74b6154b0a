/**
 * Reads who funds the payers of a rail and their funders, and where its payees send their income: USDC transfers to payers and
 * their funders, and from payees and their collectors. The requests of a poll are limited; the progress is stored, and the next
 * poll continues.
 */
import { chains, rpcSettingOf } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import type { Measurement } from '../../src/core/figures.ts'
import type { PaymentFacts } from '../../src/core/rules/facts.ts'
import { sumFlows } from '../../src/core/rules/flows.ts'
import { isHub } from '../../src/core/rules/hubs.ts'
import { hourOf, secondMs } from '../../src/core/time.ts'
import { readTransferChunks, transferFilters, usdcChunkBlocks } from '../chain/usdc-transfers.ts'
import { testWallets } from '../chain/wallet-test.ts'
import type { PollEvidence } from './evidence.ts'
import { chooseWallets } from './look-up-choice.ts'
import {
  beginLookUps,
  finishLookBack,
  followedOf,
  isKnownTransfer,
  lookUpCursor,
  nextLookBack,
} from './look-up-state.ts'
import type { LookBack, LookUpSide } from './look-up-state.ts'
import {
  firstPayments,
  lookUpTimeOf,
  transferDaysOf,
  transfersKeptMs,
  walletFactsOf,
} from './looked-up.ts'
import type { LookUpWallets } from './looked-up.ts'
import type { PayoutStore } from './payout-store.ts'
import type { Payout } from './payouts.ts'
import { rereadMs } from './read-again.ts'
import type { Window } from './window.ts'

const testsPerPoll = 40
/** As many as new payers have in a day: after a long pause the next polls read the rest. */
const followRequestsPerPoll = 144

export interface LookUpContext {
  readonly window: Window
  readonly chain: (name: EvmChainName) => ChainReader
  /** True if the operator has configured a node, so that more than the rail itself can be read. */
  readonly hasNode: (name: EvmChainName) => boolean
  /** Payouts that earlier polls aggregated, and the cursor from which this poll resumes. */
  readonly payouts: PayoutStore
  readonly evidence: PollEvidence
  /** True when other rails are waiting. A long read of a rail then throws `UnfinishedRead`. */
  readonly isTurnOver: () => boolean
  readonly signal: AbortSignal
}

/** Adds what look-ups know to the facts of a rail that is paid in USDC on this chain. */
export async function withLookUps(
  ctx: LookUpContext,
  chain: EvmChainName,
  measurement: Measurement,
): Promise<Measurement> {
  const { facts, evidence, notes } = measurement
  const logs = evidence.flatMap((pointer) => (pointer.kind === 'logs' ? [pointer] : []))
  if (facts === undefined || logs.length === 0) return measurement
  if (!ctx.hasNode(chain)) {
    const note = `The funders of payers are not looked up: no node is configured for ${chain} (${rpcSettingOf(chain)}).`
    return { ...measurement, notes: [...notes, note] }
  }
  const head = Math.max(...logs.map((pointer) => pointer.to_block))
  const { state, transfers, isBehind, problem } = await lookUp(ctx, chain, facts, head)
  await ctx.evidence.list('wallet_tests', () => state.tests)
  const wallets = walletFactsOf(transfers, state.tests, evidence)
  const waiting = new Set([...(state.lookBack?.payers ?? []), ...(state.lookBack?.payees ?? [])])
  const read = (side: LookUpSide) =>
    new Set(followedOf(state, side).filter((wallet) => !waiting.has(wallet)))
  const lookedUp = { payers: read('payers'), payees: read('payees') }
  const lookUpNotes = [
    `The look-ups of funders cover ${lookedUp.payers.size} payers and funders, and ${lookedUp.payees.size} payees and collectors.`,
    ...(waiting.size === 0 ? [] : [`The next polls look up ${waiting.size} more.`]),
    ...(isBehind ? [`The transfers after block ${state.block} are not read yet.`] : []),
    ...(problem === null ? [] : [`The look-ups ended early: ${problem}`]),
  ]
  return {
    ...measurement,
    notes: [...notes, ...lookUpNotes],
    facts: { ...facts, transfers, wallets, lookedUp },
  }
}

/** A failure of the node ends the look-ups of this poll, not the poll. */
async function lookUp(ctx: LookUpContext, chain: EvmChainName, facts: PaymentFacts, head: number) {
  const { endMs } = ctx.window
  const reader = ctx.chain(chain)
  const blockMs = chains[chain].blockSeconds * secondMs
  const stream = await ctx.payouts.open('look_ups', hourOf(endMs - transfersKeptMs), lookUpCursor)
  const settled = Math.max(0, head - Math.ceil(rereadMs / blockMs))
  const state = beginLookUps(stream.cursor(), settled, endMs)
  const save = async () => await stream.save(state)
  const transfers = () => transferDaysOf(stream.hours(), facts)
  const isTestedHub = (wallet: string) => {
    const tested = state.tests[wallet]
    return tested === undefined ? null : isHub({ listedHub: false, ...tested })
  }
  const choose = () => chooseWallets(facts, sumFlows(transfers()), isTestedHub)
  let testsLeft = testsPerPoll

  /** Saves after each chunk. Ends early when `isEnough` says so. */
  async function readRange(
    { from, to }: { readonly from: number; readonly to: number },
    wallets: LookUpWallets,
    isEnough: () => boolean,
    done: (to: number, requests: number) => void,
  ): Promise<void> {
    if (isEnough()) return
    // Once, and not by each of the concurrent first requests.
    await reader.requireChain()
    const filters = transferFilters(chain, wallets)
    await readTransferChunks({
      reader,
      filters,
      fromBlock: from,
      toBlock: to,
      signal: ctx.signal,
      isEnough,
      onChunk: async (found, { fromBlock, toBlock }) => {
        const added = found.flatMap((transfer): Payout[] => {
          if (isKnownTransfer(state, transfer)) return []
          const { from: payer, to: payee, ...log } = transfer
          const atMs = lookUpTimeOf(chain, { block: head, atMs: endMs }, log.block)
          return [{ ...log, atMs, payer, payee }]
        })
        stream.add(added)
        done(toBlock, filters.length)
        const place = { chain, wallets, from: fromBlock, to: toBlock, head }
        const saveReading = ctx.evidence.addLookUp(place, added)
        await ctx.payouts.transaction(async (tx) => {
          await saveReading(tx)
          await stream.save(state, tx)
        })
      },
    })
  }

  /** Reads the blocks since the last poll for all followed wallets; the rest of a chunk waits for the next poll. */
  async function follow(): Promise<void> {
    const [into, outOf] = [followedOf(state, 'payers'), followedOf(state, 'payees')]
    const size = usdcChunkBlocks(chain)
    const to = state.block + Math.floor((settled - state.block) / size) * size
    let left = followRequestsPerPoll
    const isEnough = () => left <= 0 || ctx.isTurnOver()
    await readRange(
      { from: state.block + 1, to },
      { into, outOf },
      isEnough,
      (doneTo, requests) => {
        left -= requests
        state.block = doneTo
      },
    )
  }

  /** Returns false if the requests of the day or of the poll are used up. */
  async function lookBack({ payers: into, payees: outOf, ...range }: LookBack): Promise<boolean> {
    const read = async (to: number, wallets: LookUpWallets) => {
      const isEnough = () => state.requests.left <= 0 || ctx.isTurnOver()
      await readRange({ from: range.next, to }, wallets, isEnough, (done, requests) => {
        state.requests.left -= requests
        range.next = done + 1
        state.lookBack = { payers: into, payees: outOf, ...range }
      })
    }
    await read(Math.min(range.payeesFirst - 1, range.last), { into, outOf: [] })
    await read(range.last, { into, outOf })
    if (range.next <= range.last) return false
    finishLookBack(state, 'payers', into, range.first, endMs)
    finishLookBack(state, 'payees', outOf, range.payeesFirst, endMs)
    state.lookBack = null
    await save()
    return true
  }

  async function testChosen(): Promise<void> {
    // Tests of older versions did not count senders.
    const isTested = (wallet: string) => (state.tests[wallet]?.block ?? null) !== null
    const untested = choose().toTest.filter((wallet) => !isTested(wallet))
    const tested = await testWallets(reader, untested.slice(0, testsLeft), head)
    testsLeft -= tested.size
    for (const [wallet, test] of tested)
      state.tests[wallet] = { seenMs: endMs, block: head, ...test }
    await save()
  }

  const firstMsOf = firstPayments(facts)
  const blockAt = (timeMs: number) => Math.max(0, head - Math.ceil((endMs - timeMs) / blockMs))
  let problem: string | null = null
  try {
    await follow()
    let isMore = true
    while (isMore) {
      state.lookBack ??= nextLookBack(state, choose(), firstMsOf, blockAt, endMs)
      await save()
      isMore = state.lookBack !== null && (await lookBack(state.lookBack))
      await testChosen()
    }
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    problem = error.message
  }
  const isBehind = settled - state.block >= usdcChunkBlocks(chain)
  return { state, transfers: transfers(), isBehind, problem }
}
