/**
 * What a chain says of transactions, asked for many at once: receipts in batches or whole blocks of them, one header for
 * each block, the heads once. Answers are taken apart strictly: what does not fit together is an error, not a fact.
 */
import type { Address, Hex } from 'viem'
import { z } from 'zod'

import type { Finality } from '../../src/core/onchain.ts'
import { secondMs } from '../../src/core/time.ts'
import type { DueTransaction } from '../../src/db/receipt-checks.ts'
import { requireChainId } from './batch.ts'
import type { BatchRpc, RpcAnswer, RpcQuestion } from './batch.ts'
import { chains } from './chains.ts'
import { ChainError } from './errors.ts'

export interface SeenBlock {
  readonly number: number
  readonly hash: Hex
  /** Unix milliseconds of its header. */
  readonly atMs: number
  readonly finality: Finality
}

/** A `Transfer` of the token that the chain's table names; wallets in lower case, value in units of the token. */
export interface TokenTransfer {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly logIndex: number
}

export type TransactionFacts =
  /** Something did not answer, or not in a way that can be true: nothing is known. */
  | { readonly kind: 'error'; readonly reason: string }
  | { readonly kind: 'not found' }
  | { readonly kind: 'pending' }
  /** The block in which it was seen still stands. */
  | { readonly kind: 'standing'; readonly block: SeenBlock }
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

/** Receipts asked for between two writes. */
const perRound = 400
/** Fewer than this are asked for one by one: whole blocks would not pay. */
const leastForBlocks = 40
const probeSize = 50
const trialBlocks = 8
const blocksPerRequest = 10
/** JSON-RPC: the method does not exist. */
const noSuchMethod = -32_601

const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform((text): Hex => `0x${text.slice(2).toLowerCase()}`)
const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/i)
  .transform(Number)
const address = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`)

const header = z.object({ number: quantity, hash, timestamp: quantity })
const log = z.object({
  address,
  topics: z.array(hash),
  data: z.string().regex(/^0x[0-9a-f]*$/i),
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  removed: z.boolean().optional(),
})
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: quantity,
  status: z.enum(['0x0', '0x1']),
  logs: z.array(log),
})
const blockReceipts = z.array(z.looseObject({ transactionHash: hash }))
const transaction = z.object({ hash, blockHash: hash.nullable() })

type Header = z.infer<typeof header>
type Receipt = z.infer<typeof receipt>
/** Null: the node does not have it. */
type Found<Thing> = Thing | null | ChainError

export interface FactsReader {
  readonly heads: Heads
  /** Facts as they come in, some transactions at a time, each once. Throws `BudgetSpent` where the rest must wait. */
  readonly read: (due: readonly DueTransaction[]) => AsyncGenerator<FactsByHash>
}

/** Checks that it is the right chain and reads the heads, once for the run. @throws ChainError */
export async function openFacts(rpc: BatchRpc): Promise<FactsReader> {
  const [chainId, ...tags] = await rpc.ask([
    { method: 'eth_chainId', params: [] },
    ...['latest', 'safe', 'finalized'].map((tag) => headerQuestion(tag)),
  ])
  requireChainId(rpc, chainId)
  const [latest, safe, finalized] = tags.map((answer) => parsed(rpc, answer, header, 'a head'))
  const heads = {
    latest: numberOf(rpc, latest),
    safe: numberOf(rpc, safe),
    finalized: numberOf(rpc, finalized),
  }
  if (heads.finalized > heads.safe || heads.safe > heads.latest) {
    throw new ChainError(`${rpc.chain} RPC: heads that contradict each other`)
  }
  const headers = new Map<number, Found<Header>>()
  return { heads, read: (due) => readFacts({ rpc, heads, headers }, due) }
}

interface Reading {
  readonly rpc: BatchRpc
  readonly heads: Heads
  /** Of this run, by number. */
  readonly headers: Map<number, Found<Header>>
}

async function* readFacts(
  reading: Reading,
  due: readonly DueTransaction[],
): AsyncGenerator<FactsByHash> {
  const unseen: DueTransaction[] = []
  for (const part of parts(due, perRound)) {
    await askHeaders(
      reading,
      part.flatMap(({ seenIn }) => seenIn.map(({ number }) => number)),
    )
    const facts = new Map<string, TransactionFacts>()
    for (const one of part) {
      const fact = one.seenIn.length === 0 ? null : standingFact(reading, one)
      if (fact === null) unseen.push(one)
      else facts.set(one.txHash, fact)
    }
    if (facts.size > 0) yield facts
  }
  const bySeen = new Map(unseen.map((one) => [one.txHash, one]))
  const ordered = unseen.toSorted((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1))
  const rounds = askReceipts(
    reading,
    ordered.map(({ txHash }) => txHash),
  )
  for await (const found of rounds) yield await composed(reading, found, bySeen)
}

/** What the headers alone say of a transaction that was seen before; null where its receipt is needed. */
function standingFact(reading: Reading, due: DueTransaction): TransactionFacts | null {
  for (const { number, hash: seenHash } of due.seenIn) {
    const found = reading.headers.get(number) ?? null
    if (found instanceof ChainError) return { kind: 'error', reason: found.message }
    if (found === null || number > reading.heads.latest) {
      return { kind: 'error', reason: behind(reading.rpc, number) }
    }
    if (found.hash !== seenHash) return null
    if (!due.isNew && due.seenIn.length === 1) {
      return { kind: 'standing', block: blockOf(reading, found) }
    }
  }
  return null
}

/** A node that is behind looks like a chain that was rolled back: only another block in its place tells. */
function behind(rpc: BatchRpc, block: number): string {
  return `${rpc.chain} RPC: it does not have block ${block}, in which the transaction was seen`
}

/** Receipts by hash, in rounds; whole blocks of them where that answers more than it asks. */
async function* askReceipts(
  { rpc }: Reading,
  hashes: readonly string[],
): AsyncGenerator<ReadonlyMap<string, Found<Receipt>>> {
  let waiting = [...hashes]
  let byBlocks = waiting.length >= leastForBlocks
  let isTried = false
  while (waiting.length > 0) {
    const probe = byBlocks ? spread(waiting, probeSize) : waiting.slice(0, perRound)
    const found = new Map<string, Found<Receipt>>()
    const answers = await rpc.ask(probe.map((txHash) => receiptQuestion(txHash)))
    for (const [at, txHash] of probe.entries()) {
      found.set(txHash, receiptOf(rpc, answers[at], txHash))
    }
    waiting = waiting.filter((txHash) => !found.has(txHash))
    const blocks = [...new Set([...found.values()].flatMap(blockNumbers))]
    if (byBlocks && waiting.length > 0 && blocks.length > 0) {
      const wanted = new Set(waiting)
      const tries = isTried ? [blocks] : [blocks.slice(0, trialBlocks), blocks.slice(trialBlocks)]
      for (const some of tries) {
        const before = found.size
        if (byBlocks) byBlocks = await askBlocks(rpc, some, wanted, found)
        if (found.size - before < some.length) byBlocks = false
      }
      isTried = true
      waiting = waiting.filter((txHash) => !found.has(txHash))
    }
    yield found
  }
}

function blockNumbers(found: Found<Receipt>): number[] {
  return found === null || found instanceof ChainError ? [] : [found.blockNumber]
}

/** Adds the wanted receipts of whole blocks; answers whether the node knows the method. */
async function askBlocks(
  rpc: BatchRpc,
  blocks: readonly number[],
  wanted: ReadonlySet<string>,
  found: Map<string, Found<Receipt>>,
): Promise<boolean> {
  const questions = blocks.map((block) => ({
    method: 'eth_getBlockReceipts',
    params: [toHex(block)],
  }))
  const answers = await rpc.ask(questions, blocksPerRequest)
  for (const answer of answers) {
    // Whoever was not found is asked for by hash: an answer that cannot be read costs a question, no verdict.
    if ('error' in answer) {
      if (answer.code === noSuchMethod) return false
      continue
    }
    const list = blockReceipts.safeParse(answer.result)
    for (const raw of list.success ? list.data : []) {
      const { transactionHash } = raw
      if (!wanted.has(transactionHash) || found.has(transactionHash)) continue
      found.set(transactionHash, receiptOf(rpc, { result: raw }, transactionHash))
    }
  }
  return true
}

/** Facts of the transactions whose receipts came in: headers of their blocks, and the pool for those without. */
async function composed(
  reading: Reading,
  found: ReadonlyMap<string, Found<Receipt>>,
  bySeen: ReadonlyMap<string, DueTransaction>,
): Promise<FactsByHash> {
  const { rpc } = reading
  await askHeaders(reading, [...found.values()].flatMap(blockNumbers))
  const missing = [...found].flatMap(([txHash, one]) => (one === null ? [txHash] : []))
  const pool = await rpc.ask(missing.map((txHash) => transactionQuestion(txHash)))
  const facts = new Map<string, TransactionFacts>()
  for (const [at, txHash] of missing.entries()) {
    const due = bySeen.get(txHash)
    facts.set(txHash, unminedFact(reading, pool[at], txHash, due))
  }
  for (const [txHash, one] of found) {
    if (one === null) continue
    facts.set(
      txHash,
      one instanceof ChainError ? { kind: 'error', reason: one.message } : minedFact(reading, one),
    )
  }
  return facts
}

/** A transaction without a receipt: in the pool, unknown, or withheld by a node that still has its block. */
function unminedFact(
  { rpc, headers }: Reading,
  answer: RpcAnswer | undefined,
  txHash: string,
  due: DueTransaction | undefined,
): TransactionFacts {
  const inPool = parsed(rpc, answer, transaction, 'a transaction')
  if (inPool instanceof ChainError) return { kind: 'error', reason: inPool.message }
  const stands = due?.seenIn.some(({ number, hash: seenHash }) => {
    const known = headers.get(number) ?? null
    return known !== null && !(known instanceof ChainError) && known.hash === seenHash
  })
  if (stands === true) {
    return { kind: 'error', reason: `${rpc.chain} RPC: a block that stands, without its receipt` }
  }
  if (inPool === null) return { kind: 'not found' }
  if (inPool.hash === txHash) return { kind: 'pending' }
  return { kind: 'error', reason: `${rpc.chain} RPC: a transaction that was not asked for` }
}

function minedFact(reading: Reading, mined: Receipt): TransactionFacts {
  const { rpc, headers } = reading
  const found = headers.get(mined.blockNumber) ?? null
  if (found instanceof ChainError) return { kind: 'error', reason: found.message }
  if (found === null) return { kind: 'error', reason: behind(rpc, mined.blockNumber) }
  if (found.hash !== mined.blockHash) {
    const reason = `${rpc.chain} RPC: a receipt of a block that is not the one of its number`
    return { kind: 'error', reason }
  }
  const block = blockOf(reading, found)
  if (mined.status === '0x0') return { kind: 'reverted', block }
  const usdc: string = chains[rpc.chain].usdc.address
  const transfers = mined.logs.flatMap((one) => (one.address === usdc ? transferOf(one) : []))
  return { kind: 'mined', block, transfers }
}

/** ERC-20 `Transfer(address indexed from, address indexed to, uint256 value)`; other events give nothing. */
function transferOf({ topics, data, logIndex }: z.infer<typeof log>): TokenTransfer[] {
  const [topic, from, to, ...more] = topics
  if (topic !== transferTopic || from === undefined || to === undefined || more.length > 0)
    return []
  if (data.length !== 66) return []
  return [{ from: walletOf(from), to: walletOf(to), value: BigInt(data), logIndex }]
}

function walletOf(topic: Hex): string {
  return `0x${topic.slice(-40)}`
}

function blockOf({ heads }: Reading, { number, hash: blockHash, timestamp }: Header): SeenBlock {
  const finality = number <= heads.finalized ? 'final' : number <= heads.safe ? 'safe' : 'soft'
  return { number, hash: blockHash, atMs: timestamp * secondMs, finality }
}

async function askHeaders({ rpc, headers }: Reading, numbers: readonly number[]): Promise<void> {
  const wanted = [...new Set(numbers)].filter((number) => !headers.has(number))
  const answers = await rpc.ask(wanted.map((number) => headerQuestion(toHex(number))))
  for (const [at, number] of wanted.entries()) {
    const found = parsed(rpc, answers[at], header, 'a block')
    const isOther = found !== null && !(found instanceof ChainError) && found.number !== number
    headers.set(
      number,
      isOther ? new ChainError(`${rpc.chain} RPC: a block that was not asked for`) : found,
    )
  }
}

/** The receipt, if it is of this transaction and all its logs are of it and of its block. */
function receiptOf(rpc: BatchRpc, answer: RpcAnswer | undefined, txHash: string): Found<Receipt> {
  const found = parsed(rpc, answer, receipt, 'a receipt')
  if (found === null || found instanceof ChainError) return found
  if (found.transactionHash !== txHash) {
    return new ChainError(`${rpc.chain} RPC: the receipt of another transaction`)
  }
  const fits = found.logs.every(
    (one) =>
      one.removed !== true &&
      one.transactionHash === txHash &&
      one.blockHash === found.blockHash &&
      one.blockNumber === found.blockNumber,
  )
  const places = new Set(found.logs.map(({ logIndex }) => logIndex))
  if (fits && places.size === found.logs.length) return found
  return new ChainError(`${rpc.chain} RPC: a receipt whose logs are not its own`)
}

function parsed<Thing>(
  rpc: BatchRpc,
  answer: RpcAnswer | undefined,
  schema: z.ZodType<Thing>,
  what: string,
): Found<Thing> {
  if (answer === undefined) return new ChainError(`${rpc.chain} RPC: a question without an answer`)
  if ('error' in answer) return answer.error
  if (answer.result === null) return null
  const read = schema.safeParse(answer.result)
  return read.success ? read.data : new ChainError(`${rpc.chain} RPC: not ${what}`)
}

function numberOf(rpc: BatchRpc, head: Found<Header> | undefined): number {
  if (head instanceof ChainError) throw head
  if (head === null || head === undefined)
    throw new ChainError(`${rpc.chain} RPC: a head is missing`)
  return head.number
}

function headerQuestion(block: string): RpcQuestion {
  return { method: 'eth_getBlockByNumber', params: [block, false] }
}

function receiptQuestion(txHash: string): RpcQuestion {
  return { method: 'eth_getTransactionReceipt', params: [txHash] }
}

function transactionQuestion(txHash: string): RpcQuestion {
  return { method: 'eth_getTransactionByHash', params: [txHash] }
}

function toHex(number: number): Hex {
  return `0x${number.toString(16)}`
}

/** So many of the list, evenly spread over it. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, items.length / count)
  return items.filter((_, at) => at % step < 1)
}

function* parts<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
