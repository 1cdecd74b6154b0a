/** Income statements: what the receipts of a worker show about a month, with a Merkle root over the confirmed transfers. */
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'
import { z } from 'zod'

import { word } from './abi.ts'
import { canonicalize } from './canonical-json.ts'
import { check } from './check.ts'
import type { Check } from './check.ts'
import { present } from './entries.ts'
import { bytesToHex, hexToBytes } from './hex.ts'
import { microPerUsdc, toUsdc } from './money.ts'
import { dayMs, isoTime } from './time.ts'

const text = z.string().max(128)
const time = z.iso.datetime()
const count = z.int().min(0)
const usdc = z.number()
const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
export const statementMonth = z
  .string()
  .regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'must be a month such as 2026-10')
/** `linked`: confirmed, but payer and worker are one wallet, or were found to be one party. */
const verdict = z
  .enum([
    'on_chain',
    'linked',
    'attested',
    'agreed',
    'signed_by_the_seller',
    'claimed',
    'reversed',
    'rejected',
  ])
  .describe('What the ledger could check; see /docs/statements.')
const dispute = text.optional().describe('State of the newest dispute about the receipt.')

/** In the order of its encoding. */
export const incomeLeaf = z.object({
  chain_id: count,
  token: text,
  from: text.describe('The payer.'),
  to: text.describe('The wallet that was paid.'),
  amount_micro_usdc: count.describe('Of the receipt; if it states none, of the transfer.'),
  block_time: count.describe('In Unix seconds.'),
  tx_hash: text,
  log_index: count,
})
export type IncomeLeaf = z.infer<typeof incomeLeaf>

export const incomeReceipt = z.object({
  receipt_id: text,
  occurred_at: time,
  rail: text,
  verdict,
  amount_usdc: usdc,
  unknown_figures: z.array(z.literal('amount_usdc')).optional(),
  payer: text.optional(),
  platform: text.optional(),
  chain: text.optional().describe('The chain of the payment; absent without one.'),
  tx_hash: text.optional(),
  dispute,
  leaf: incomeLeaf.optional().describe('The transfer, if the verdict is `on_chain`.'),
})
export type IncomeReceipt = z.infer<typeof incomeReceipt>

export const incomeCorrection = z.object({
  ...incomeReceipt.pick({
    receipt_id: true,
    rail: true,
    amount_usdc: true,
    unknown_figures: true,
    dispute: true,
  }).shape,
  month: statementMonth.describe('The statement that lists the receipt.'),
  was: verdict.describe('The verdict when it was last stated.'),
  is: verdict.describe('The verdict now.'),
  was_amount_usdc: usdc.optional().describe('The amount that was last stated, if it has changed.'),
  change_usdc: usdc,
})

export const incomeStatement = z.object({
  demo: z.literal(true).optional().describe('Present on a demo ledger: all its data are invented.'),
  wallet: text,
  month: statementMonth,
  closed_at: time.describe('When the statement was made.'),
  previous: z
    .object({ month: statementMonth, sha256 })
    .nullable()
    .describe('The statement before, with the SHA-256 of its bytes; null for the first.'),
  total_usdc: usdc,
  corrections_usdc: usdc,
  running_total_usdc: usdc,
  by_verdict: z.array(
    z.object({ verdict, receipts: count.describe('Number of receipts.'), amount_usdc: usdc }),
  ),
  receipts: z.array(incomeReceipt).describe('The receipts of this statement, oldest first.'),
  corrections: z.array(incomeCorrection),
  merkle: z.object({
    profile: text,
    version: count,
    root: text,
    leaves: count,
    left_out: z.string(),
  }),
  note: z.string(),
})
export type IncomeStatement = z.infer<typeof incomeStatement>

const graceDays = 15
/** More receipts are in the next statement. */
export const maxStatedReceipts = 5000
const profile = { profile: 'agent-income-ledger/usdc-income', version: 1 } as const
const leftOut =
  'Everything but receipts of this statement with the verdict on_chain: linked payments, receipts without a final transfer of USDC on a checked chain, and corrections of earlier statements.'
const note =
  'What this ledger could check of the receipts it was given. It is no tax document, invoice or account statement, and income without a receipt is missing. The total contains only transfers that are final on their chain, with the amount of the receipt; all other receipts are listed apart.'

/** Months before this one may be closed: by then most payers have had their first check, 14 days after a receipt counts. */
export function firstOpenMonth(nowMs: number): string {
  return isoTime(nowMs - graceDays * dayMs).slice(0, 7)
}

/** The first time after the month. */
export function monthEnd(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return isoTime(Date.UTC(year, number))
}

export const earliestClosing = (month: string): string =>
  isoTime(Date.parse(monthEnd(month)) + graceDays * dayMs)

export const openMonthText = (month: string): string =>
  `The month ${month} is open: its statement is made at ${earliestClosing(month)} at the earliest, once no check of its receipts is still to come.`

/** `receipts`: of this statement; `again`: those of earlier statements as they are now. */
export function makeStatement(
  facts: Pick<IncomeStatement, 'closed_at' | 'demo' | 'month' | 'previous' | 'receipts' | 'wallet'>,
  again: readonly IncomeReceipt[],
  earlier: readonly IncomeStatement[],
): IncomeStatement {
  const { receipts } = facts
  const stated = lastStated(earlier)
  const corrections = again.flatMap((row) => correctionOf(row, stated.get(row.receipt_id)) ?? [])
  return {
    ...facts,
    ...totalsOf({ receipts, corrections }, earlier.at(-1)?.running_total_usdc ?? 0),
    corrections,
    merkle: { ...profile, ...rootOf(receipts), left_out: leftOut },
    note,
  }
}

type Correction = z.infer<typeof incomeCorrection>
type Stated = Omit<Correction, 'change_usdc' | 'was' | 'was_amount_usdc'>

/** What the newest statement says about each receipt, by its id. */
export function lastStated(earlier: readonly IncomeStatement[]): ReadonlyMap<string, Stated> {
  const lines = earlier.flatMap(({ month, receipts, corrections }) => [
    ...receipts.map((row) => ({ ...row, month, is: row.verdict })),
    ...corrections,
  ])
  return new Map(lines.map((line): [string, Stated] => [line.receipt_id, line]))
}

function correctionOf(row: IncomeReceipt, stated: Stated | undefined): Correction | null {
  const { receipt_id, rail, amount_usdc, unknown_figures, verdict: is, dispute: state } = row
  if (stated === undefined) return null
  const { month, is: was, amount_usdc: before, unknown_figures: unknown } = stated
  const isSame = before === amount_usdc
  if (isSame && was === is && stated.dispute === state) return null
  const was_amount_usdc = isSame || unknown !== undefined ? null : before
  const optional = present({ unknown_figures, dispute: state, was_amount_usdc })
  const line = { receipt_id, rail, amount_usdc, ...optional, month, was, is }
  return { ...line, change_usdc: changeOf(line) }
}

function changeOf(line: Omit<Correction, 'change_usdc'>): number {
  const { was, is, amount_usdc: now, was_amount_usdc: before = now } = line
  return sumOf([is === 'on_chain' ? now : 0, was === 'on_chain' ? 0 - before : 0])
}

const amountOf = (row: Pick<IncomeReceipt, 'amount_usdc'>): number => row.amount_usdc

function totalsOf(
  { receipts, corrections }: Pick<IncomeStatement, 'corrections' | 'receipts'>,
  before: number,
) {
  const total_usdc = sumOf(receipts.filter(({ leaf }) => leaf !== undefined).map(amountOf))
  const corrections_usdc = sumOf(corrections.map((line) => line.change_usdc))
  const running_total_usdc = sumOf([before, total_usdc, corrections_usdc])
  const by_verdict = verdict.options.map((name) => {
    const rows = receipts.filter((row) => row.verdict === name)
    return { verdict: name, receipts: rows.length, amount_usdc: sumOf(rows.map(amountOf)) }
  })
  return { total_usdc, corrections_usdc, running_total_usdc, by_verdict }
}

/** Exact in micro-USDC. */
function sumOf(amountsUsdc: readonly number[]): number {
  return toUsdc(amountsUsdc.reduce((sum, one) => sum + Math.round(one * microPerUsdc), 0))
}

/** Sorted pairs; an odd node is carried up; the root of no leaves is 32 zero bytes. */
function rootOf(receipts: readonly IncomeReceipt[]) {
  let level = receipts.flatMap(({ leaf }) => (leaf === undefined ? [] : [leafHash(leaf)]))
  const leaves = level.length
  while (level.length > 1) {
    level = level.flatMap((left, at) => {
      const right = level[at + 1]
      if (at % 2 === 1) return []
      return right === undefined ? left : keccak(left < right ? left + right : right + left)
    })
  }
  return { root: `0x${level[0] ?? word('')}`, leaves }
}

function leafHash(leaf: IncomeLeaf): string {
  const { chain_id, token, from, to, amount_micro_usdc, block_time, tx_hash, log_index } = leaf
  const values = [chain_id, token, from, to, amount_micro_usdc, block_time, tx_hash, log_index]
  const words = values.map((value) =>
    word(typeof value === 'number' ? value.toString(16) : value.slice(2).toLowerCase()),
  )
  return keccak(keccak(words.join('')))
}

const keccak = (hex: string): string => bytesToHex(keccak256(hexToBytes(hex) ?? new Uint8Array()))

/** Checks the lines, and recomputes totals and root. `before`: the running total of the statement before; null if unknown. */
export function checkStatement(
  statement: IncomeStatement,
  before: number | null,
): readonly Check[] {
  const { wallet, receipts, corrections, merkle, previous } = statement
  const { root, leaves } = rootOf(receipts)
  const totals = totalsOf(statement, before ?? 0)
  const isSame = (...names: (keyof typeof totals)[]) =>
    names.every((name) => canonicalize(statement[name]) === canonicalize(totals[name]))
  const isOwn = ({ leaf, ...row }: IncomeReceipt) =>
    (leaf !== undefined) === (row.verdict === 'on_chain') &&
    (leaf === undefined ||
      (toUsdc(leaf.amount_micro_usdc) === row.amount_usdc &&
        leaf.tx_hash === row.tx_hash &&
        leaf.to === wallet.toLowerCase()))
  const transfers = receipts.flatMap(({ leaf }) =>
    leaf === undefined ? [] : `${leaf.chain_id} ${leaf.tx_hash.toLowerCase()} ${leaf.log_index}`,
  )
  const unique = [...[...receipts, ...corrections].map((line) => line.receipt_id), ...transfers]
  const areGood =
    receipts.every(isOwn) &&
    corrections.every((line) => line.change_usdc === changeOf(line)) &&
    new Set(unique).size === unique.length
  const isOpen = previous !== null && before === null
  return [
    check('lines', areGood, `${receipts.length} receipts, ${leaves} with a transfer`),
    check(
      'total',
      isSame('total_usdc', 'corrections_usdc', 'by_verdict'),
      `${totals.total_usdc} USDC on chain`,
    ),
    isOpen
      ? { ...check('running total', true, 'needs the statement before'), label: 'open' }
      : check('running total', isSame('running_total_usdc'), `${totals.running_total_usdc} USDC`),
    check('Merkle root', merkle.root === root && merkle.leaves === leaves, root),
  ]
}
