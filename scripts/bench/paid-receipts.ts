import type { Address, Hex } from 'viem'

import { hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { openDatabase } from '../../src/db/open.ts'
import { insertReceipt } from '../../src/db/receipts/receipts.ts'
import { startReceiptChain } from '../../test/support/receipt-chain.ts'
import type { ReceiptChain } from '../../test/support/receipt-chain.ts'

const workersCount = 200
const payersCount = 500
const amountUsdc = 2.5
const receiptsPerTransaction = 500
const startMs = Date.UTC(2026, 10, 20)
export const paidReceiptsNowMs = startMs + 12 * hourMs

interface ChainPayment {
  readonly hash: Hex
  readonly from: Address
  readonly to: Address
}

/** A chain with that many final payments, `perBlock` in each block. */
export async function startChainWithPayments(
  count: number,
  perBlock: number,
): Promise<{ readonly chain: ReceiptChain; readonly payments: readonly ChainPayment[] }> {
  const chain = await startReceiptChain('arbitrum', startMs)
  const payments: ChainPayment[] = []
  for (let at = 0; at < count; at += 1) {
    const from = address('a', at % payersCount)
    const to = address('b', at % workersCount)
    payments.push({ from, to, hash: await chain.send({ from, to, usdc: amountUsdc }) })
    if (payments.length % perBlock === 0 || payments.length === count) await chain.mine(1)
  }
  await chain.mine(32)
  return { chain, payments }
}

function address(kind: string, number: number): Address {
  return `0x${kind.repeat(20)}${number.toString(16).padStart(20, '0')}`
}

/** Makes a database in which each payment has a receipt that is not yet checked. */
export async function writePaidReceipts(
  path: string,
  payments: readonly ChainPayment[],
): Promise<void> {
  const database = await openDatabase({ url: path })
  // Workers submit in another order than blocks come in: steps of a prime that does not divide their number.
  const mixed = payments.flatMap((_, at) => payments[(at * 7919) % payments.length] ?? [])
  for (let at = 0; at < mixed.length; at += receiptsPerTransaction) {
    await database.write(async (tx) => {
      for (const payment of mixed.slice(at, at + receiptsPerTransaction)) {
        await insertReceipt(tx, receiptOf(payment))
      }
    })
  }
  await database.close()
}

function receiptOf({ hash, from, to }: ChainPayment) {
  const occurredAt = isoTime(startMs + hourMs)
  return {
    id: `rcp_${hash.slice(2)}`,
    kind: 'signed',
    rail: 'x402',
    chain: 'arbitrum',
    txHash: hash,
    from: parseWallet(from),
    to: parseWallet(to),
    amountMicroUsdc: amountUsdc * 1_000_000,
    assetSymbol: 'USDC',
    occurredAt,
    summary: null,
    jobId: null,
    evidenceUrl: null,
    platform: null,
    publicKey: null,
    submitter: to,
    content: { hash },
    verification: 'pending',
    verificationReason: null,
    onchain: 'pending',
    acceptedAt: occurredAt,
  } as const
}
