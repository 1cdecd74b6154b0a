/** Entries and standings as rows, and back. */
import type { Selectable } from 'kysely'

import { noStanding } from '../core/reputation.ts'
import type { EntryEffect, Standing } from '../core/reputation.ts'
import type { ReputationLedgerTable, ReputationTable } from './tables/receipts.ts'

/** Whose ledger it is: the key of the rows, and the form that answers print. */
export interface LedgerWallet {
  readonly id: string
  readonly display: string
}

export interface NewEntry extends EntryEffect {
  readonly receiptId: string | null
  readonly payer: string | null
  readonly payerRank: number | null
  readonly reason: string
}

export const standingColumns = [
  'decayed_sum_at_epoch',
  'entries',
  'receipts',
  'lifetime_micro_usdc',
  'first_receipt_at',
  'last_receipt_at',
] as const satisfies readonly (keyof ReputationTable)[]

export type StandingRow = Pick<Selectable<ReputationTable>, (typeof standingColumns)[number]>

export function toStanding(row: StandingRow | undefined): Standing {
  if (row === undefined) return noStanding
  return {
    decayedSumAtEpoch: row.decayed_sum_at_epoch,
    entries: row.entries,
    receipts: row.receipts,
    lifetimeMicroUsdc: row.lifetime_micro_usdc,
    firstReceiptAt: row.first_receipt_at,
    lastReceiptAt: row.last_receipt_at,
  }
}

export function entryRow(walletId: string, entry: NewEntry) {
  return {
    wallet: walletId,
    receipt_id: entry.receiptId,
    kind: entry.kind,
    payer: entry.payer,
    payer_rank: entry.payerRank,
    amount_micro_usdc: entry.amountMicroUsdc,
    weight: entry.weight,
    value_micro_usdc: entry.valueMicroUsdc,
    reason: entry.reason,
    counts_from: entry.countsFrom,
    created_at: entry.createdAt,
  }
}

export function standingRow(wallet: LedgerWallet, standing: Standing) {
  return {
    wallet: wallet.id,
    display: wallet.display,
    decayed_sum_at_epoch: standing.decayedSumAtEpoch,
    entries: standing.entries,
    receipts: standing.receipts,
    lifetime_micro_usdc: standing.lifetimeMicroUsdc,
    first_receipt_at: standing.firstReceiptAt,
    last_receipt_at: standing.lastReceiptAt,
  }
}

export interface StoredEntry extends NewEntry {
  readonly seq: number
  readonly wallet: string
}

export const entryColumns = [
  'seq',
  'wallet',
  'receipt_id',
  'kind',
  'payer',
  'payer_rank',
  'amount_micro_usdc',
  'weight',
  'value_micro_usdc',
  'reason',
  'counts_from',
  'created_at',
] as const satisfies readonly (keyof ReputationLedgerTable)[]

export function toEntry(row: Selectable<ReputationLedgerTable>): StoredEntry {
  return {
    seq: row.seq,
    wallet: row.wallet,
    receiptId: row.receipt_id,
    kind: row.kind,
    payer: row.payer,
    payerRank: row.payer_rank,
    amountMicroUsdc: row.amount_micro_usdc,
    weight: row.weight,
    valueMicroUsdc: row.value_micro_usdc,
    reason: row.reason,
    countsFrom: row.counts_from,
    createdAt: row.created_at,
  }
}
