/** Checks the transactions in a record of a pact. Every function throws `ChainError`. */
import type { z } from 'zod'

import { transferOf } from '../../builder/chain/receipt-facts.ts'
import { chains } from '../../src/chain/chains.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { blockHeader, headerCall, parseReceipt, parseResult } from '../../src/chain/values.ts'
import type { ChainReceipt } from '../../src/chain/values.ts'
import type { pactList } from '../../src/contract/schemas/pact.ts'
import { word } from '../../src/core/abi.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'

type PactLists = z.infer<typeof pactList>
export type SettledPact = PactLists['settled'][number]
type RecordedPact = PactLists['recorded'][number]
export type PactRecord = SettledPact | RecordedPact | PactLists['in_flight'][number]

/** Returns no check of a pact in flight, which has no payment yet. */
export async function checkTransactions(
  reader: ChainReader,
  record: PactRecord | null,
): Promise<readonly Check[]> {
  if (record?.state === 'settled') return await checkPayment(reader, record)
  return record?.state === 'recorded' ? await checkPublishedRecord(reader, record) : []
}

/** Checks that the transaction paid at least the amount from payer to worker, and that its block is final. */
async function checkPayment(reader: ChainReader, pact: SettledPact): Promise<readonly Check[]> {
  const receipt = await findReceipt(reader, pact.tx_hash)
  if (typeof receipt === 'string') return [check('payment', false, receipt)]
  const [payer, worker] = [pact.payer.toLowerCase(), pact.worker.toLowerCase()]
  const moved = receipt.logs
    .flatMap((log) => (log.address === chains.arbitrum.usdc.address ? transferOf(log) : []))
    .filter(({ from, to }) => from === payer && to === worker)
    .reduce((sum, { value }) => sum + value, 0n)
  const stated = BigInt(Math.round(pact.amount_usdc * microPerUsdc))
  const paid = `${Number(moved) / microPerUsdc} of ${pact.amount_usdc} USDC`
  const { blockNumber } = receipt
  const final = await readHeader(reader, 'finalized')
  return [
    check('payment', moved >= stated, `${paid} went from payer to worker in ${pact.tx_hash}`),
    check(
      'block',
      blockNumber === pact.block_number,
      `it is in block ${blockNumber}; the ledger states ${pact.block_number}`,
    ),
    check(
      'finality',
      final !== null && final.number >= blockNumber,
      `the chain is final to block ${final?.number ?? 'unknown'}`,
    ),
  ]
}

async function checkPublishedRecord(
  reader: ChainReader,
  { pact_id: pactId, published }: RecordedPact,
): Promise<readonly Check[]> {
  const checks: Check[] = []
  const escrow = pactEscrow.address.toLowerCase()
  const topic = `0x${word(BigInt(pactId).toString(16))}`
  for (const [what, txHash] of [
    ['published submission', published?.submit_work_tx],
    ['published payment', published?.approve_tx],
  ] as const) {
    if (txHash === undefined) continue
    const receipt = await findReceipt(reader, txHash)
    if (typeof receipt === 'string') {
      checks.push(check(what, false, receipt))
      continue
    }
    const hasLog = receipt.logs.some(
      ({ address, topics }) => address === escrow && topics[1] === topic,
    )
    const log = `log of the escrow for pact ${pactId}`
    checks.push(check(what, hasLog, `${txHash} has ${log}`, `${txHash} has no ${log}`))
  }
  return checks
}

/** Returns the receipt of a successful transaction in the current chain, or the reason why there is none. */
async function findReceipt(reader: ChainReader, txHash: string): Promise<ChainReceipt | string> {
  const result = await reader.call('eth_getTransactionReceipt', [txHash])
  const receipt = parseReceipt(reader.name, result, txHash.toLowerCase())
  if (receipt === null) return 'the node does not know the transaction'
  if (receipt.status !== '0x1') return 'the transaction was reverted'
  const block = await readHeader(reader, receipt.blockNumber)
  return block?.hash === receipt.blockHash ? receipt : 'its block was reorganised'
}

async function readHeader(reader: ChainReader, block: number | 'finalized') {
  const { method, params } = headerCall(block)
  const header = await reader.call(method, params)
  return parseResult(reader.name, blockHeader.nullable(), header, 'a block')
}
