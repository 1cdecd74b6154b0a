import { z } from 'zod'

import type { DaysRead } from '../../src/core/backfill.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import { secondMs } from '../../src/core/time.ts'
import { UnfinishedRead, defineRail } from './adapter.ts'
import type { EvidencePointer, AdapterContext } from './adapter.ts'
import { reducePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'
import { createSolanaReader } from './solana-rpc.ts'
import type { SignatureInfo, SolanaReader } from './solana-rpc.ts'
import { transfersOf } from './solana-transfers.ts'
import { firstKeptHour } from './window.ts'
import facilitatorList from './x402-facilitators.json' with { type: 'json' }

const usdcMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'

const ceilingMicroUsdc = 100_000_000n

/** Maximum number of transactions per poll. The next poll reads the remaining ones. */
const maxTransactionsPerPoll = 2000
const signaturesPerStep = 100
const requestsAtOnce = 4

const feePayers: readonly string[] = facilitatorList.facilitators.flatMap(
  ({ solana = [] }) => solana,
)
const facilitators: ReadonlySet<string> = new Set(feePayers)

const place = z.object({ signature: z.string(), slot: z.int().min(0) })

/** `done`: all transactions from the start of the window up to this one are read. `walk`: an unfinished backward read. */
const addressState = z.object({
  done: place.nullable(),
  walk: z.object({ head: place, before: z.string(), atMs: z.number() }).nullable(),
})
const cursorSchema = z.object({
  addresses: z.record(z.string(), addressState),
  lastPayoutAtMs: z.number().nullable(),
})
type AddressState = z.infer<typeof addressState>

/** USDC moved in transactions whose fee a known facilitator paid, read backwards from the newest one. */
export const x402Solana = defineRail({
  rail: 'x402_solana',
  rule: {
    name: 'facilitator-paid-transfers',
    version: '1',
    text: 'Kept are USDC transfers of up to 100 USDC in transactions whose fee a known facilitator paid, where the payer is neither that facilitator nor the receiver, and not between facilitators. Payers and payees are owners of token accounts. Windows are counted in whole hours.',
  },
  chains: ['solana'],
  read: async (ctx) => {
    if (ctx.fromLines !== undefined) {
      const { streams, evidence } = await ctx.fromLines({ usdc: { decimals: 6 } })
      return { ...streams.usdc, pointers: evidence }
    }
    const solana = createSolanaReader(ctx.solana())
    const fromHour = firstKeptHour(ctx.window)
    const stream = await ctx.payouts.open('usdc', fromHour, cursorSchema)
    const states = new Map(Object.entries(stream.cursor()?.addresses ?? {}))
    let [transactions, lowestSlot, highestSlot] = [0, Number.MAX_SAFE_INTEGER, 0]
    const begun = new Set<string>()
    let waiting = [...feePayers]
    while (waiting.length > 0 && transactions < maxTransactionsPerPoll) {
      const unfinished: string[] = []
      for (const address of waiting) {
        const budget = maxTransactionsPerPoll - transactions
        if (budget <= 0) {
          unfinished.push(address)
          continue
        }
        ctx.signal.throwIfAborted()
        // A backward read that an earlier poll began ends where that poll began; later transactions need another read.
        const isResumed = (states.get(address)?.walk ?? null) !== null && !begun.has(address)
        if (!isResumed) begun.add(address)
        const step = await readBackwards(ctx, solana, address, states.get(address), budget)
        states.set(address, step.state)
        for (const { slot } of step.read) {
          lowestSlot = Math.min(lowestSlot, slot)
          highestSlot = Math.max(highestSlot, slot)
        }
        transactions += step.read.length
        if (!step.finished || isResumed) unfinished.push(address)
        stream.add(step.payouts)
        const to = step.read[0]?.signature
        const payouts = new Map([['usdc', step.payouts]])
        const saveChunk =
          to === undefined
            ? null
            : ctx.evidence.addChunk({ source: { wallet: address, to }, payouts })
        await ctx.payouts.transaction(async (tx) => {
          await saveChunk?.(tx)
          await stream.save({ addresses: Object.fromEntries(states) }, tx)
        })
      }
      waiting = unfinished
    }
    if (waiting.length > 0) {
      const unread = waiting.map((address) => states.get(address))
      const isFirst = unread.some((state) => (state?.done ?? null) === null)
      if (isFirst) await ctx.backfill.save(backfillOf(ctx, unread))
      throw new UnfinishedRead('other rails are waiting')
    }
    await ctx.backfill.save(null)
    const logs: EvidencePointer = {
      kind: 'logs',
      chain: 'solana',
      contract: usdcMint,
      from_block: lowestSlot,
      to_block: highestSlot,
      logs: transactions,
    }
    return {
      ...stream.withPayouts([]),
      pointers: transactions === 0 ? [] : [logs],
    }
  },
  reduce: ({ buckets, lastPayoutAtMs, pointers }, window) => {
    const notes = [
      `${feePayers.length} fee payers of known facilitators are followed; one that the list does not name is not seen.`,
    ]
    return reducePayouts(buckets, window, { lastPayoutAtMs, notes, evidence: pointers })
  },
})

/** The addresses are read backwards: the mean of their read parts counts as days from the start of the window. */
function backfillOf(
  { window, backfill }: AdapterContext,
  unread: readonly (AddressState | undefined)[],
): DaysRead {
  const { fromMs, toMs } = backfill.stored ?? { fromMs: window.start30dMs, toMs: window.endMs }
  const unreadMs = unread.reduce((sum, state) => {
    const leftMs = (state?.walk?.atMs ?? toMs) - fromMs
    return sum + Math.min(toMs - fromMs, Math.max(0, leftMs))
  }, 0)
  return { fromMs, toMs, readUntilMs: toMs - Math.round(unreadMs / feePayers.length) }
}

async function readBackwards(
  ctx: AdapterContext,
  solana: SolanaReader,
  address: string,
  { done, walk }: AddressState = { done: null, walk: null },
  budget: number,
) {
  const listed = await solana.signatures(address, {
    limit: Math.min(signaturesPerStep, budget),
    before: walk?.before,
    until: done?.signature,
  })
  const unseen = unreadPart(listed, done, ctx.window.start30dMs)
  const finished = listed.length === 0 || unseen.length < listed.length
  const head = walk?.head ?? slotOf(listed[0]) ?? done
  const last = unseen.at(-1)
  return {
    state:
      finished || head === null || last === undefined
        ? { done: head, walk: null }
        : {
            done,
            walk: {
              head,
              before: last.signature,
              atMs: timeOf(last) ?? walk?.atMs ?? ctx.window.endMs,
            },
          },
    finished,
    read: unseen,
    payouts: await readPayouts(
      solana,
      address,
      unseen.filter(({ err }) => err === null),
    ),
  }
}

/** Compares slots too: a node that has lost the signature of `until` ignores it. */
function unreadPart(
  listed: readonly SignatureInfo[],
  done: AddressState['done'],
  startMs: number,
): readonly SignatureInfo[] {
  const end = listed.findIndex(
    ({ signature, slot, blockTime }) =>
      signature === done?.signature ||
      (done !== null && slot < done.slot) ||
      (blockTime !== null && blockTime * secondMs < startMs),
  )
  return end === -1 ? listed : listed.slice(0, end)
}

function timeOf({ blockTime }: SignatureInfo): number | null {
  return blockTime === null ? null : blockTime * secondMs
}

function slotOf(info: SignatureInfo | undefined): AddressState['done'] {
  return info === undefined ? null : { signature: info.signature, slot: info.slot }
}

async function readPayouts(
  solana: SolanaReader,
  feePayer: string,
  signatures: readonly SignatureInfo[],
): Promise<Payout[]> {
  const payouts = await mapConcurrent(signatures, requestsAtOnce, async ({ signature }) => {
    const transaction = await solana.transaction(signature)
    const { blockTime, meta, slot } = transaction
    const payer = transaction.transaction.message.accountKeys[0]?.pubkey
    // The node also lists transactions that only mention the address.
    if (payer !== feePayer || meta.err !== null || blockTime === null) return []
    return transfersOf(transaction, usdcMint).map(({ from, to, units }, logIndex) => ({
      txHash: signature,
      logIndex,
      atMs: blockTime * secondMs,
      block: slot,
      payer: from,
      payee: to,
      units,
      microUsdc: microFromBaseUnits(units, 6),
      removedBy: removedBy(feePayer, from, to, units),
    }))
  })
  return payouts.flat()
}

function removedBy(feePayer: string, from: string, to: string, units: bigint): string | null {
  if (from === feePayer) return 'signer_is_payer'
  if (from === to) return 'self_payment'
  if (facilitators.has(from) && facilitators.has(to)) return 'between_facilitators'
  return units > ceilingMicroUsdc ? 'above_ceiling' : null
}
