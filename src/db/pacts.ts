import { sql } from 'kysely'

import { groupBy } from '../core/group-by.ts'
import type { EscrowPact } from '../core/pact/escrow.ts'
import type { EscrowEvent, EscrowReading, PactOnChain, PactReceipt } from '../core/pact/sources.ts'
import { toJsonText } from './json.ts'
import { deleteRecords, findRecord, insertRecord, putRecord, selectRecords } from './records.ts'
import type { Db, DbTransaction } from './schema.ts'

/** `finalHash`: hash of the final block at which the next reading starts. */
export interface StoredReading extends EscrowReading {
  readonly finalHash: string
  readonly revision: number
}

/** Null before the first reading. `escrow`: lower-case address. */
export async function escrowReading(db: Db, escrow: string): Promise<StoredReading | null> {
  const row = await findRecord(db, 'escrow_readings', { escrow })
  return row === null ? null : { ...row, caughtUp: row.caughtUp === 1 }
}

/** Keyed by pact number. Logs are in chain order. */
export async function pactsOnChain(db: Db): Promise<ReadonlyMap<number, PactOnChain>> {
  const rows = await selectRecords(db, 'escrow_events')
    .orderBy('pact_id')
    .orderBy('block')
    .orderBy('log_index')
    .execute()
  const all = rows.map(({ event }) => event)
  const events = groupBy(all, ({ pactId }) => pactId)
  const pacts = await selectRecords(db, 'escrow_pacts').execute()
  const states = new Map(pacts.map(({ pactId, state }) => [pactId, state]))
  return new Map([...events].map(([id, events]) => [id, { events, state: states.get(id) ?? null }]))
}

export interface ReadEscrow {
  readonly reading: Omit<StoredReading, 'revision'>
  /** Every log above the stored final block. */
  readonly events: readonly EscrowEvent[]
  /** Keyed by pact number. Null deletes the stored state. */
  readonly states: ReadonlyMap<number, EscrowPact | null>
}

/** Replaces logs above `aboveBlock`, including reorganised ones; returns whether anything changed. */
export async function saveReading(
  tx: DbTransaction,
  escrow: string,
  aboveBlock: number,
  { reading, events, states }: ReadEscrow,
): Promise<boolean> {
  const before = await contentToken(tx)
  await tx.deleteFrom('escrow_events').where('block', '>', aboveBlock).execute()
  for (const event of events) {
    const { block, logIndex, pactId } = event
    await insertRecord(tx, 'escrow_events', { block, logIndex, pactId, event })
  }
  for (const [pactId, state] of states) {
    if (state === null) await deleteRecords(tx, 'escrow_pacts', { pactId })
    else await putRecord(tx, 'escrow_pacts', { pactId, state }, 'pactId')
  }
  await sql`delete from escrow_pacts where pact_id not in (select pact_id from escrow_events)`.execute(
    tx,
  )
  const last = await escrowReading(tx, escrow)
  const changed = before !== (await contentToken(tx)) || last?.caughtUp !== reading.caughtUp
  const caughtUp = reading.caughtUp ? 1 : 0
  const revision =
    (last?.revision ?? 0) + Number(changed || reading.finalBlock !== last?.finalBlock)
  await putRecord(tx, 'escrow_readings', { ...reading, escrow, caughtUp, revision }, 'escrow')
  return changed
}

/** All logs and states as text; there are only tens of pacts. */
async function contentToken(db: Db): Promise<string> {
  return toJsonText({ pacts: [...(await pactsOnChain(db))].map(([id, pact]) => ({ id, ...pact })) })
}

export async function forgetEscrow(tx: DbTransaction): Promise<void> {
  for (const table of ['escrow_events', 'escrow_pacts', 'escrow_readings'] as const) {
    await tx.deleteFrom(table).execute()
  }
}

const receiptsLimit = 20_000

/** Verified receipts with a job id `pact-<N>`, in block order. */
export async function verifiedPactReceipts(db: Db): Promise<readonly PactReceipt[]> {
  const rows = await db
    .selectFrom('receipts')
    .innerJoin('receipt_checks', 'receipt_checks.receipt_id', 'receipts.id')
    .select([
      'receipts.id as receiptId',
      'receipts.job_id as jobId',
      'receipts.chain',
      'receipts.tx_hash as txHash',
      'receipts.from_wallet as fromWallet',
      'receipts.from_display as fromDisplay',
      'receipts.to_wallet as toWallet',
      'receipts.to_display as toDisplay',
      'receipts.amount_micro_usdc as amountMicroUsdc',
      'receipt_checks.payer',
      'receipt_checks.block_number as block',
      'receipt_checks.block_at as blockAt',
    ])
    .where('receipts.job_id', '>', 'pact-0')
    .where('receipts.job_id', '<', 'pact-:')
    // Expressions, so that no index is used for them: nearly all receipts are verified.
    .where(sql<boolean>`receipts.onchain || '' = 'verified'`)
    .where(sql<boolean>`receipts.verification || '' = 'verified'`)
    .orderBy('receipt_checks.block_number')
    .orderBy('receipts.seq')
    .limit(receiptsLimit)
    .execute()
  return rows.flatMap((row): PactReceipt[] => {
    const [, number] = /^pact-([1-9]\d{0,8})$/.exec(row.jobId ?? '') ?? []
    const { receiptId, chain, txHash, block, blockAt, amountMicroUsdc } = row
    if (number === undefined || chain === null || txHash === null) return []
    const payer = row.fromWallet ?? row.payer
    if (block === null || blockAt === null || payer === null) return []
    return [
      {
        receiptId,
        pactId: Number(number),
        chain,
        txHash,
        payer: { id: payer, display: row.fromDisplay ?? payer },
        worker: { id: row.toWallet, display: row.toDisplay },
        amountMicroUsdc,
        block,
        settledAtMs: Date.parse(blockAt),
      },
    ]
  })
}
