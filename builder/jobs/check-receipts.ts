import { chains, receiptChains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { ChainError, notConfigured } from '../../src/chain/errors.ts'
import { CallBudgetError, createRpcClient } from '../../src/chain/json-rpc.ts'
import type { RpcClient } from '../../src/chain/json-rpc.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { dayMs, isoTime, secondMs } from '../../src/core/time.ts'
import { closeFlagWithEvent, listOpenFlags } from '../../src/db/flags.ts'
import { setMeta } from '../../src/db/meta.ts'
import {
  dueTransactions,
  saveCheck,
  receiptsOnUnsupportedChains,
  waitingByChain,
} from '../../src/db/receipts/checks.ts'
import { updateRecord } from '../../src/db/records.ts'
import { applyFacts, noTally } from '../chain/receipt-apply.ts'
import type { Tally } from '../chain/receipt-apply.ts'
import { openFacts } from '../chain/receipt-facts.ts'
import type { FactsByHash, Heads } from '../chain/receipt-facts.ts'
import { receiptRunKey } from '../world/receipt-run.ts'
import type { ChainReport, ReceiptRun } from '../world/receipt-run.ts'
import { reviewReputation } from './review-reputation.ts'
import type { ReviewDeps } from './review-reputation.ts'
import type { JobResult } from './run-job.ts'

const defaultMaxCalls = 20_000
const defaultTimeoutMs = 20 * secondMs
/** Failures in a row after which a run stops using a node. */
const maxFailures = 3
const maxDue = 20_000
/** Number of chain transactions per database transaction: other writers wait while it runs. */
const perWrite = 50
/** The flag of a reversal is closed after this time. The reversal remains in the reputation ledger. */
const reversalFlagTtlMs = 30 * dayMs
const uncheckedPerWrite = 500

export async function checkReceipts(deps: ReviewDeps): Promise<ReceiptRun> {
  const { database, clock } = deps
  const startedAt = isoTime(clock.now())
  const nodes = receiptChains.filter((chain) => (deps.rpcUrls[chain] ?? null) !== null)
  const reports: ChainReport[] = []
  for (const chain of receiptChains) reports.push(...(await checkChain(deps, chain)))
  reports.push(...(await markUnsupportedChains(deps)))
  await closeOldReversalFlags(deps)
  const reviews = await reviewReputation(deps)
  const finishedAt = isoTime(clock.now())
  const run = { started_at: startedAt, finished_at: finishedAt, nodes, chains: reports, reviews }
  await database.write((tx) => setMeta(tx, receiptRunKey, JSON.stringify(run)))
  return run
}

async function checkChain(deps: ReviewDeps, chain: EvmChainName): Promise<ChainReport[]> {
  const { database, clock, random, fetch, signal, maxCalls = defaultMaxCalls } = deps
  const due = await dueTransactions(database.reader, chain, isoTime(clock.now()), maxDue)
  if (due.length === 0) return []
  const tally = { ...noTally }
  const report = (state: ChainReport['state'], rpc: RpcClient | null, more: object = {}) => {
    const usage = rpc?.spent() ?? { calls: 0, requests: 0 }
    const calls = { rpc_calls: usage.calls, rpc_requests: usage.requests }
    return [{ chain, state, due: due.length, ...tally, ...calls, ...more }]
  }
  const rpcUrl = deps.rpcUrls[chain] ?? null
  if (rpcUrl === null) {
    return report('no rpc', null, { reason: notConfigured(chain) })
  }
  const { timeoutMs = defaultTimeoutMs, retries = 2 } = deps
  const limits = { timeoutMs, retries, maxCalls, maxFailures }
  const rpc = createRpcClient(chain, rpcUrl, { fetch, clock, random, signal, ...limits })
  let read: { readonly heads?: Heads } = {}
  try {
    const facts = await openFacts(rpc)
    read = { heads: facts.heads }
    for await (const found of facts.read(due)) await write(deps, chain, found, tally)
    return report('checked', rpc, read)
  } catch (error) {
    const end = (state: 'stopped' | 'failed', reason: string) =>
      report(state, rpc, { ...read, reason })
    if (signal.aborted) return end('stopped', 'the builder was stopped')
    if (error instanceof CallBudgetError) {
      return end('stopped', `${maxCalls} RPC calls were used; the next run continues`)
    }
    if (error instanceof ChainError) return end('failed', error.message)
    throw error
  }
}

async function write(
  { database, clock, random, signal }: ReviewDeps,
  chain: EvmChainName,
  found: FactsByHash,
  tally: Tally,
): Promise<void> {
  const entries = [...found]
  for (let at = 0; at < entries.length; at += perWrite) {
    signal.throwIfAborted()
    const nowMs = clock.now()
    // Added to the tally only after the commit.
    const counted = { ...noTally }
    await database.write(async (tx) => {
      for (const [txHash, facts] of entries.slice(at, at + perWrite)) {
        await applyFacts(tx, { chain, txHash }, facts, { random, nowMs, tally: counted })
      }
    })
    for (const [name, count] of entriesOf(counted)) tally[name] += count
  }
}

async function markUnsupportedChains(deps: ReviewDeps): Promise<ChainReport[]> {
  const { database, clock } = deps
  const { reader } = database
  const now = isoTime(clock.now())
  for (;;) {
    const unsupported = await receiptsOnUnsupportedChains(reader, receiptChains, uncheckedPerWrite)
    if (unsupported.length === 0) break
    await database.write(async (tx) => {
      for (const receipt of unsupported) {
        const reason = noChecker(receipt.chain)
        await saveCheck(tx, receipt, { ...unchecked, reason, verdictAt: now, checkedAt: now })
        const changes = { onchain: 'pending', onchainCheckedAt: now } as const
        await updateRecord(tx, 'receipts', { id: receipt.id }, changes)
      }
    })
  }
  const waiting = await waitingByChain(reader)
  return [...waiting]
    .filter(([chain]) => !Object.hasOwn(chains, chain) || chain === 'solana')
    .map(([chain, due]) => {
      const calls = { rpc_calls: 0, rpc_requests: 0 }
      return { chain, state: 'no checker', reason: noChecker(chain), due, ...noTally, ...calls }
    })
}

const unchecked = {
  verdict: 'unchecked',
  blockNumber: null,
  blockHash: null,
  blockAt: null,
  logIndex: null,
  payer: null,
  attempts: 0,
  consecutiveNotFound: 0,
  firstMissingAt: null,
  nextAt: null,
} as const

function noChecker(chain: string): string {
  return `no checker for ${chain}`
}

async function closeOldReversalFlags({ database, clock, random }: ReviewDeps): Promise<void> {
  const nowMs = clock.now()
  const before = isoTime(nowMs - reversalFlagTtlMs)
  const open = await listOpenFlags(database.reader)
  const old = open.filter((flag) => flag.kind === 'receipt_reversed' && flag.openedAt < before)
  for (const flag of old) {
    const reason = 'a month has passed; the reversal remains in the reputation ledger'
    await database.write((tx) => closeFlagWithEvent(tx, random, flag, isoTime(nowMs), reason))
  }
}

/** Such as `arbitrum: 12 due, 10 verified`. @throws Error when no chain with due receipts could be read */
export function receiptsResult({ chains: reports, reviews = [] }: ReceiptRun): JobResult {
  const payers = reviews.map(({ chain, due, adjusted, reversed, reason }) => {
    const done = `payers on ${chain}: ${due} due, ${adjusted} adjusted, ${reversed} reversed`
    return reason === undefined ? done : `${done} (${reason})`
  })
  const detail = [...reports.map(chainSummary), ...payers].join('; ')
  const tried = reports.filter(({ state }) => state !== 'no rpc' && state !== 'no checker')
  if (tried.length > 0 && tried.every(({ state }) => state === 'failed')) throw new Error(detail)
  return { detail: detail === '' ? 'nothing was due' : detail, quiet: false }
}

function chainSummary(report: ChainReport): string {
  const { chain, state, due, reason } = report
  if (state === 'no rpc' || state === 'no checker') {
    return `${chain}: ${reason ?? state}, ${due} waiting`
  }
  const counts = (['verified', 'provisional', 'waiting', 'failed', 'reversed', 'errors'] as const)
    .filter((name) => report[name] > 0)
    .map((name) => `${report[name]} ${name}`)
  const counted = [`${due} due`, ...counts, `${report.rpc_calls} RPC calls`].join(', ')
  return reason === undefined ? `${chain}: ${counted}` : `${chain}: ${counted} (${reason})`
}
