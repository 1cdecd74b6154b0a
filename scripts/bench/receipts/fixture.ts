/** Payments on a local chain and the receipts that name them: many to a block, or one. */
import type { Address, Hex } from 'viem'

import { hourMs, isoTime } from '../../../src/core/time.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { insertReceipt } from '../../../src/db/receipts/receipts.ts'
import { startReceiptChain } from '../../../test/support/receipt-chain.ts'
import type { ReceiptChain } from '../../../test/support/receipt-chain.ts'

const workers = 200
const payers = 500
const amountUsdc = 2.5
/** Receipts written in one transaction. */
const perWrite = 500

const startMs = Date.UTC(2026, 10, 20)
/** Later than every block of the fixture. */
export const fixtureNowMs = startMs + 12 * hourMs

interface Paid {
  readonly hash: Hex
  readonly from: Address
  readonly to: Address
}

export interface Fixture {
  readonly chain: ReceiptChain
  readonly paid: readonly Paid[]
}

/** A chain with so many payments, so many of them to a block, all of them final. */
export async function payAll(count: number, perBlock: number): Promise<Fixture> {
  const chain = await startReceiptChain('arbitrum', startMs)
  const paid: Paid[] = []
  while (paid.length < count) {
    const some = Array.from({ length: Math.min(perBlock, count - paid.length) }, (_, at) =>
      partiesOf(paid.length + at),
    )
    for (const { from, to } of some) {
      paid.push({ from, to, hash: await chain.send({ from, to, usdc: amountUsdc }) })
    }
    await chain.mine(1)
  }
  await chain.mine(32)
  return { chain, paid }
}

function partiesOf(at: number): { from: Address; to: Address } {
  return { from: address('a', at % payers), to: address('b', at % workers) }
}

function address(kind: string, number: number): Address {
  return `0x${kind.repeat(20)}${number.toString(16).padStart(20, '0')}`
}

/** A new database in which every payment has a receipt that waits for its chain, in an order of its own. */
export async function writeReceipts(path: string, paid: readonly Paid[]): Promise<void> {
  const database = await openDatabase({ url: path })
  // Receipts come in as workers send them, not as blocks came: a step that is prime to their number.
  const mixed = paid.map((_, at) => paid[(at * 7919) % paid.length])
  for (let at = 0; at < mixed.length; at += perWrite) {
    await database.write(async (tx) => {
      for (const [nth, one] of mixed.slice(at, at + perWrite).entries()) {
        if (one === undefined) continue
        await insertReceipt(tx, receiptOf(one, at + nth))
      }
    })
  }
  await database.close()
}

function receiptOf({ hash, from, to }: Paid, number: number) {
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
    content: { number },
    verification: 'pending',
    verificationReason: null,
    onchain: 'pending',
    acceptedAt: occurredAt,
  } as const
}
