/** Reads facts about transactions from one node: by batches of receipts, or by whole blocks if that takes fewer calls. */
import type { Hex } from 'viem'
import { z } from 'zod'

import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import { CallBudgetError } from '../../src/chain/json-rpc.ts'
import type { RpcAnswer, RpcClient } from '../../src/chain/json-rpc.ts'
import { requireChainId } from '../../src/chain/node.ts'
import {
  hash,
  headerCall,
  parseHeader,
  parseReceipt,
  parseResult,
  toHex,
} from '../../src/chain/values.ts'
import type { BlockHeader, ChainLog, ChainReceipt } from '../../src/chain/values.ts'
import { transferTopic } from '../../src/core/abi.ts'
import type { Finality } from '../../src/core/onchain.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import { secondMs } from '../../src/core/time.ts'
import type { DueTransaction } from '../../src/db/receipts/checks.ts'

type EvmRpc = RpcClient<EvmChainName>

export interface SeenBlock {
  readonly number: number
  readonly hash: Hex
  readonly atMs: number
  readonly finality: Finality
}

export type TransactionFacts =
  | { readonly kind: 'error'; readonly reason: string }
  /** `gone`: hashes of replaced blocks in which the transaction was seen. */
  | { readonly kind: 'not found'; readonly gone: readonly string[] }
  | { readonly kind: 'pending'; readonly gone: readonly string[] }
  | { readonly kind: 'unchanged'; readonly block: SeenBlock }
  | { readonly kind: 'reverted'; readonly block: SeenBlock }
  | {
      readonly kind: 'mined'
      readonly block: SeenBlock
      readonly transfers: readonly TokenTransfer[]
    }

export interface Heads {
  readonly latest: number
  readonly safe: number
  readonly finalized: number
}

export type FactsByHash = ReadonlyMap<string, TransactionFacts>

/** Wallets are in lower case; `value` is in base units of the token. */
export type TokenTransfer = ReturnType<typeof transferOf>[number]
type ChainLookup<Found> = Found | null | ChainError

const blockReceipts = z.array(z.looseObject({ transactionHash: hash }))
const transaction = z.object({ hash, blockHash: hash.nullable() })

const receiptsPerRound = 400
/** For fewer receipts, reading whole blocks costs more than reading each receipt. */
const minReceiptsForBlocks = 40
const maxCallsPerTransaction = 3
const probeSize = 50
const trialBlocks = 8
const blocksPerRequest = 10
const noSuchMethod = -32_601

/** @throws ChainError if the node serves another chain or its heads are inconsistent */
export async function openFacts(rpc: EvmRpc) {
  const [chainId, ...tags] = await rpc.batch([
    { method: 'eth_chainId', params: [] },
    ...(['latest', 'safe', 'finalized'] as const).map(headerCall),
  ])
  if (chainId === undefined || 'error' in chainId) {
    throw chainId?.error ?? new ChainError(`${rpc.chain} RPC: the node has no chain id`)
  }
  requireChainId(rpc.chain, chainId.result)
  const [latest, safe, finalized] = tags.map((answer) =>
    lookUp(rpc, answer, parseHeader, undefined),
  )
  const heads: Heads = {
    latest: numberOf(rpc, latest),
    safe: numberOf(rpc, safe),
    finalized: numberOf(rpc, finalized),
  }
  if (heads.finalized > heads.safe || heads.safe > heads.latest) {
    throw new ChainError(`${rpc.chain} RPC: the heads contradict each other`)
  }
  const headers = new Map<number, ChainLookup<BlockHeader>>()
  return {
    heads,
    read: (due: readonly DueTransaction[]) => readFacts({ rpc, heads, headers }, due),
  }
}

interface Reading {
  readonly rpc: EvmRpc
  readonly heads: Heads
  readonly headers: Map<number, ChainLookup<BlockHeader>>
}

/** Yields each transaction once. @throws CallBudgetError */
async function* readFacts(
  reading: Reading,
  due: readonly DueTransaction[],
): AsyncGenerator<FactsByHash> {
  const unseen: DueTransaction[] = []
  for (let at = 0; at < due.length;) {
    const part = due.slice(at, at + roundSize(reading.rpc, receiptsPerRound))
    at += part.length
    const numbers = part.flatMap(({ seenIn }) => seenIn.map(({ number }) => number))
    await fetchHeaders(reading, numbers)
    const facts = new Map<string, TransactionFacts>()
    for (const one of part) {
      const fact = one.seenIn.length === 0 ? null : unchangedFact(reading, one)
      if (fact === null) unseen.push(one)
      else facts.set(one.txHash, fact)
    }
    if (facts.size > 0) yield facts
  }
  const bySeen = new Map(unseen.map((one) => [one.txHash, one]))
  for (let at = 0; at < unseen.length;) {
    // The longest-waiting part comes first; within a part, order by time brings receipts of one block together.
    const part = unseen.slice(at, at + roundSize(reading.rpc, unseen.length))
    at += part.length
    const ordered = part.toSorted((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1))
    const hashes = ordered.map(({ txHash }) => txHash)
    const rounds = fetchReceipts(reading, hashes)
    for await (const found of rounds) yield await composeFacts(reading, found, bySeen)
  }
}

/** Returns the fact that headers alone prove about a known transaction, or null if its receipt is needed. */
function unchangedFact(reading: Reading, due: DueTransaction): TransactionFacts | null {
  for (const { number, hash: seenHash } of due.seenIn) {
    const found = reading.headers.get(number) ?? null
    if (found instanceof ChainError) return { kind: 'error', reason: found.message }
    if (found === null || number > reading.heads.latest) {
      return { kind: 'error', reason: missingBlockReason(reading.rpc, number) }
    }
    if (found.hash !== seenHash) return null
    if (!due.isNew && due.seenIn.length === 1) {
      return { kind: 'unchanged', block: blockOf(reading, found) }
    }
  }
  return null
}

/** A missing block does not prove a reorganisation, since the node may be behind. */
function missingBlockReason(rpc: EvmRpc, block: number): string {
  return `${rpc.chain} RPC: the node lacks block ${block}, in which the transaction was seen`
}

async function* fetchReceipts(
  { rpc }: Reading,
  hashes: readonly string[],
): AsyncGenerator<ReadonlyMap<string, ChainLookup<ChainReceipt>>> {
  let waiting = [...hashes]
  let byBlocks = waiting.length >= minReceiptsForBlocks
  let isTried = false
  while (waiting.length > 0) {
    const most = roundSize(rpc, byBlocks ? probeSize : receiptsPerRound)
    const probe = byBlocks ? evenSample(waiting, most) : waiting.slice(0, most)
    const found = new Map<string, ChainLookup<ChainReceipt>>()
    const answers = await rpc.batch(
      probe.map((txHash) => ({ method: 'eth_getTransactionReceipt', params: [txHash] })),
    )
    for (const [at, txHash] of probe.entries()) {
      found.set(txHash, lookUp(rpc, answers[at], parseReceipt, txHash))
    }
    waiting = waiting.filter((txHash) => !found.has(txHash))
    const blocks = [...new Set([...found.values()].flatMap(blockNumbers))]
    if (byBlocks && waiting.length > 0 && blocks.length > 0) {
      const wanted = new Set(waiting)
      const tries = isTried ? [blocks] : [blocks.slice(0, trialBlocks), blocks.slice(trialBlocks)]
      for (const some of tries) {
        const before = found.size
        if (byBlocks) byBlocks = await fetchBlocks(rpc, some, wanted, found)
        if (found.size - before < some.length) byBlocks = false
      }
      isTried = true
      waiting = waiting.filter((txHash) => !found.has(txHash))
    }
    yield found
  }
}

function blockNumbers(found: ChainLookup<ChainReceipt>): number[] {
  return found === null || found instanceof ChainError ? [] : [found.blockNumber]
}

/** Adds receipts from whole blocks. Returns false if the node does not support the method. */
async function fetchBlocks(
  rpc: EvmRpc,
  blocks: readonly number[],
  wanted: ReadonlySet<string>,
  found: Map<string, ChainLookup<ChainReceipt>>,
): Promise<boolean> {
  const method = 'eth_getBlockReceipts'
  const calls = blocks.map((block) => ({ method, params: [toHex(block)] }))
  const answers = await rpc.batch(calls, blocksPerRequest)
  for (const answer of answers) {
    if ('error' in answer) {
      if (answer.error.refusal?.code === noSuchMethod) return false
      continue
    }
    const list = parseEarly(blockReceipts, answer.result)
    for (const raw of list.success ? list.data : []) {
      const { transactionHash } = raw
      if (!wanted.has(transactionHash) || found.has(transactionHash)) continue
      found.set(transactionHash, lookUp(rpc, { result: raw }, parseReceipt, transactionHash))
    }
  }
  return true
}

async function composeFacts(
  reading: Reading,
  found: ReadonlyMap<string, ChainLookup<ChainReceipt>>,
  bySeen: ReadonlyMap<string, DueTransaction>,
): Promise<FactsByHash> {
  const { rpc } = reading
  await fetchHeaders(reading, [...found.values()].flatMap(blockNumbers))
  const missing = [...found].flatMap(([txHash, one]) => (one === null ? [txHash] : []))
  const pool = await rpc.batch(
    missing.map((txHash) => ({ method: 'eth_getTransactionByHash', params: [txHash] })),
  )
  const facts = new Map<string, TransactionFacts>()
  for (const [at, txHash] of missing.entries()) {
    const due = bySeen.get(txHash)
    facts.set(txHash, unminedFact(reading, pool[at], txHash, due))
  }
  for (const [txHash, one] of found) {
    if (one === null) continue
    facts.set(txHash, minedFact(reading, one))
  }
  return facts
}

function unminedFact(
  { rpc, headers }: Reading,
  answer: RpcAnswer | undefined,
  txHash: string,
  due: DueTransaction | undefined,
): TransactionFacts {
  const inPool = lookUp(rpc, answer, parseTransaction, txHash)
  if (inPool instanceof ChainError) return { kind: 'error', reason: inPool.message }
  const gone = (due?.seenIn ?? []).flatMap(({ number, hash: seenHash }) => {
    const known = headers.get(number) ?? null
    return known === null || known instanceof ChainError || known.hash === seenHash
      ? []
      : [seenHash]
  })
  return { kind: inPool === null ? 'not found' : 'pending', gone }
}

function minedFact(reading: Reading, mined: ChainReceipt | ChainError): TransactionFacts {
  if (mined instanceof ChainError) return { kind: 'error', reason: mined.message }
  const { rpc, headers } = reading
  const found = headers.get(mined.blockNumber) ?? null
  if (found instanceof ChainError) return { kind: 'error', reason: found.message }
  if (found === null) return { kind: 'error', reason: missingBlockReason(rpc, mined.blockNumber) }
  if (found.hash !== mined.blockHash) {
    const reason = `${rpc.chain} RPC: a receipt and the block of the same number have different hashes`
    return { kind: 'error', reason }
  }
  const block = blockOf(reading, found)
  if (mined.status === '0x0') return { kind: 'reverted', block }
  const usdc: string = chains[rpc.chain].usdc.address
  const transfers = mined.logs.flatMap((one) => (one.address === usdc ? transferOf(one) : []))
  return { kind: 'mined', block, transfers }
}

function blockOf(
  { heads }: Reading,
  { number, hash: blockHash, timestamp }: BlockHeader,
): SeenBlock {
  const finality = number <= heads.finalized ? 'final' : number <= heads.safe ? 'safe' : 'soft'
  return { number, hash: blockHash, atMs: timestamp * secondMs, finality }
}

async function fetchHeaders({ rpc, headers }: Reading, numbers: readonly number[]): Promise<void> {
  const wanted = [...new Set(numbers)].filter((number) => !headers.has(number))
  const answers = await rpc.batch(wanted.map((number) => headerCall(number)))
  for (const [at, number] of wanted.entries()) {
    headers.set(number, lookUp(rpc, answers[at], parseHeader, number))
  }
}

function numberOf(rpc: EvmRpc, head: ChainLookup<BlockHeader> | undefined): number {
  if (head instanceof ChainError) throw head
  if (head === null || head === undefined)
    throw new ChainError(`${rpc.chain} RPC: a head is missing`)
  return head.number
}

/** A transaction costs at most a receipt, a block and a header, so a round that fits the budget can be finished. */
function roundSize(rpc: EvmRpc, most: number): number {
  const affordable = Math.floor(rpc.callsLeft() / maxCallsPerTransaction)
  if (affordable === 0) throw new CallBudgetError()
  return Math.min(most, affordable)
}

function evenSample<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / count)
  return items.filter((_, at) => at % step < 1).slice(0, count)
}

/** Parses an answer that is not null. `parse` throws `ChainError`. */
function lookUp<Found, Wanted>(
  { chain }: EvmRpc,
  answer: RpcAnswer | undefined,
  parse: (chain: EvmChainName, result: unknown, wanted: Wanted) => Found,
  wanted: Wanted,
): ChainLookup<Found> {
  if (answer === undefined) return new ChainError(`${chain} RPC: no answer`)
  if ('error' in answer) return answer.error
  try {
    return answer.result === null ? null : parse(chain, answer.result, wanted)
  } catch (error) {
    if (error instanceof ChainError) return error
    throw error
  }
}

function parseTransaction(chain: EvmChainName, result: unknown, txHash: string): void {
  const { hash: found } = parseResult(chain, transaction, result, 'a transaction')
  if (found === txHash) return
  throw new ChainError(`${chain} RPC: the node sent a transaction that was not requested`)
}

/** Returns an empty list for events other than ERC-20 `Transfer`. */
export function transferOf({ topics, data, logIndex }: ChainLog) {
  const [topic, from, to, ...more] = topics
  if (topic !== transferTopic || from === undefined || to === undefined || more.length > 0)
    return []
  if (data.length !== 66) return []
  return [{ from: walletOf(from), to: walletOf(to), value: BigInt(data), logIndex }]
}

function walletOf(topic: Hex): string {
  return `0x${topic.slice(-40)}`
}
