import { z } from 'zod'

import type { pactList } from '../contract/schemas/pact.ts'
import { addressTopic, transferTopic, word } from '../core/abi.ts'
import type { Check } from '../core/check.ts'
import { microPerUsdc } from '../core/money.ts'
import { pactEscrow } from '../core/pact/escrow.ts'

/** Calls a JSON-RPC method and validates the result. @throws UnexpectedAnswerError */
export type CallNode = <Result>(
  schema: z.ZodType<Result>,
  method: string,
  params: readonly unknown[],
) => Promise<Result>

type List = z.infer<typeof pactList>

/** USDC as Circle issues it on Arbitrum One. */
const usdc = '0xaf88d065e77c8cc2239327c5edb3a432268e5831'

const transactionReceipt = z
  .object({
    status: z.string(),
    blockNumber: z.string(),
    blockHash: z.string(),
    logs: z.array(z.object({ address: z.string(), topics: z.array(z.string()), data: z.string() })),
  })
  .nullable()
type TransactionReceipt = NonNullable<z.infer<typeof transactionReceipt>>
const block = z.object({ number: z.string(), hash: z.string() }).nullable()

/** Checks that the transaction paid at least the amount from payer to worker, in a final block. */
export async function checkPayment(
  callNode: CallNode,
  pact: List['settled'][number],
): Promise<readonly Check[]> {
  const what = 'payment'
  const receipt = await receiptOf(callNode, pact.tx_hash)
  const problem = await receiptProblem(callNode, receipt)
  if (receipt === null || problem !== null) return [{ what, good: false, detail: problem ?? '' }]
  const number = Number(receipt.blockNumber)
  const moved = receipt.logs
    .filter(
      ({ address, topics, data }) =>
        address.toLowerCase() === usdc &&
        topics[0] === transferTopic &&
        /^0x[0-9a-f]{64}$/.test(data) &&
        topics[1] === addressTopic(pact.payer) &&
        topics[2] === addressTopic(pact.worker),
    )
    .reduce((sum, { data }) => sum + BigInt(data), 0n)
  const stated = BigInt(Math.round(pact.amount_usdc * microPerUsdc))
  const head = await callNode(block, 'eth_getBlockByNumber', ['finalized', false])
  return [
    {
      what,
      good: moved >= stated,
      detail: `${Number(moved) / microPerUsdc} of ${pact.amount_usdc} USDC went from payer to worker in ${pact.tx_hash}`,
    },
    {
      what: 'block',
      good: number === pact.block_number,
      detail: `it is in block ${number}; the ledger states ${pact.block_number}`,
    },
    {
      what: 'finality',
      good: head !== null && Number(head.number) >= number,
      detail: `the chain is final to block ${head === null ? 'unknown' : Number(head.number)}`,
    },
  ]
}

export async function checkPublishedRecord(
  callNode: CallNode,
  pact: List['recorded'][number],
): Promise<readonly Check[]> {
  const checks: Check[] = []
  const { submit_work_tx: submission, approve_tx: approval } = pact.published ?? {}
  for (const [what, txHash] of [
    ['published submission', submission],
    ['published payment', approval],
  ] as const) {
    if (txHash === undefined) continue
    const receipt = await receiptOf(callNode, txHash)
    const problem = await receiptProblem(callNode, receipt)
    const topic = `0x${word(BigInt(pact.pact_id).toString(16))}`
    const names =
      receipt?.logs.some(
        ({ address, topics }) =>
          address.toLowerCase() === pactEscrow.address.toLowerCase() && topics[1] === topic,
      ) === true
    checks.push({
      what,
      good: problem === null && names,
      detail:
        problem ??
        `${txHash} ${names ? 'has' : 'has no'} log of the escrow for pact ${pact.pact_id}`,
    })
  }
  return checks
}

async function receiptOf(callNode: CallNode, txHash: string): Promise<TransactionReceipt | null> {
  return await callNode(transactionReceipt, 'eth_getTransactionReceipt', [txHash])
}

/** Null where the transaction succeeded in a block of the current chain. */
async function receiptProblem(
  callNode: CallNode,
  receipt: TransactionReceipt | null,
): Promise<string | null> {
  if (receipt === null) return 'the node does not know the transaction'
  if (receipt.status !== '0x1') return 'the transaction was reverted'
  const current = await callNode(block, 'eth_getBlockByNumber', [receipt.blockNumber, false])
  return current?.hash === receipt.blockHash ? null : 'its block was reorganised'
}
