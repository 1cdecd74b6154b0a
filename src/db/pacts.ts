/** What was read of the escrow of pacts, and the verified receipts that name a pact. */
import type { Kysely, Transaction } from 'kysely'

import type { EscrowPact } from '../core/pact/escrow.ts'
import type { EscrowEvent, EscrowReading, PactOnChain, PactReceipt } from '../core/pact/sources.ts'
import { isoTime } from '../core/time.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'

/** How far an escrow was read, with the block on which the next reading is anchored. */
export interface StoredReading extends EscrowReading {
  readonly finalHash: string
  readonly revision: number
}

/** Null where the escrow (lower-case address) was never read. */
export async function escrowReading(
  db: Kysely<Database>,
  escrow: string,
): Promise<StoredReading | null> {
  const row = await db
    .selectFrom('escrow_readings')
    .selectAll()
    .where('escrow', '=', escrow)
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    toBlock: row.to_block,
    finalBlock: row.final_block,
    finalHash: row.final_hash,
    caughtUp: row.caught_up === 1,
    revision: row.revision,
  }
}

/** Logs and state of every pact that was read, by its number; logs in the order of the chain. */
export async function pactsOnChain(
  db: Kysely<Database>,
): Promise<ReadonlyMap<number, PactOnChain>> {
  const [events, states] = [
    await db
      .selectFrom('escrow_events')
      .selectAll()
      .orderBy('pact_id')
      .orderBy('block')
      .orderBy('log_index')
      .execute(),
    await db.selectFrom('escrow_pacts').selectAll().orderBy('pact_id').execute(),
  ]
  const found = new Map<number, { events: EscrowEvent[]; state: EscrowPact | null }>()
  for (const row of events) {
    const pact = found.get(row.pact_id) ?? { events: [], state: null }
    found.set(row.pact_id, pact)
    pact.events.push({
      pactId: row.pact_id,
      kind: row.kind,
      block: row.block,
      logIndex: row.log_index,
      txHash: row.tx_hash,
      atMs: Date.parse(row.at),
      workHash: row.work_hash,
      favorRecipient: row.favor_recipient === null ? null : row.favor_recipient === 1,
    })
  }
  for (const { pact_id: pactId, state } of states) {
    const pact = found.get(pactId)
    if (pact !== undefined) pact.state = stateOf(state)
  }
  return found
}

function stateOf(text: string): EscrowPact {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by saveReading below and by nothing else
  return objectFromJsonText(text) as unknown as EscrowPact
}

export interface ReadEscrow {
  readonly reading: Omit<StoredReading, 'revision'>
  /** Every log above the stored final block. */
  readonly events: readonly EscrowEvent[]
  /** Pacts whose state was asked for, by number; null takes back what was stored. */
  readonly states: ReadonlyMap<number, EscrowPact | null>
}

/**
 * Stores what was read: logs above `aboveBlock` are replaced, so that those of blocks that were reorganised
 * go. Answers whether any log or state changed.
 */
export async function saveReading(
  tx: Transaction<Database>,
  escrow: string,
  aboveBlock: number,
  { reading, events, states }: ReadEscrow,
): Promise<boolean> {
  const before = await contentToken(tx)
  await tx.deleteFrom('escrow_events').where('block', '>', aboveBlock).execute()
  for (const event of events) {
    await tx
      .insertInto('escrow_events')
      .values({
        block: event.block,
        log_index: event.logIndex,
        pact_id: event.pactId,
        kind: event.kind,
        tx_hash: event.txHash,
        at: isoTime(event.atMs),
        work_hash: event.workHash,
        favor_recipient: event.favorRecipient === null ? null : Number(event.favorRecipient),
      })
      .execute()
  }
  for (const [pactId, state] of states) {
    await tx.deleteFrom('escrow_pacts').where('pact_id', '=', pactId).execute()
    if (state === null) continue
    await tx
      .insertInto('escrow_pacts')
      .values({ pact_id: pactId, state: toJsonText(state) })
      .execute()
  }
  await sql`delete from escrow_pacts where pact_id not in (select pact_id from escrow_events)`.execute(
    tx,
  )
  const last = await escrowReading(tx, escrow)
  const changed = before !== (await contentToken(tx)) || last?.caughtUp !== reading.caughtUp
  const values = {
    to_block: reading.toBlock,
    final_block: reading.finalBlock,
    final_hash: reading.finalHash,
    caught_up: Number(reading.caughtUp),
    revision: (last?.revision ?? 0) + Number(changed || reading.finalBlock !== last?.finalBlock),
  }
  await tx
    .insertInto('escrow_readings')
    .values({ escrow, ...values })
    .onConflict((conflict) => conflict.column('escrow').doUpdateSet(values))
    .execute()
  return changed
}

/** Everything that was read, as one text; there are tens of pacts, not thousands. */
async function contentToken(db: Kysely<Database>): Promise<string> {
  return toJsonText({ pacts: [...(await pactsOnChain(db))].map(([id, pact]) => ({ id, ...pact })) })
}

/** Forgets all that was read of the escrow; the next reading begins anew. */
export async function forgetEscrow(tx: Transaction<Database>): Promise<void> {
  for (const table of ['escrow_events', 'escrow_pacts', 'escrow_readings'] as const) {
    await tx.deleteFrom(table).execute()
  }
}

const receiptsLimit = 20_000

/** Receipts with a job id `pact-<N>` that their chain has confirmed, in the order of its blocks. */
export async function verifiedPactReceipts(db: Kysely<Database>): Promise<readonly PactReceipt[]> {
  const rows = await db
    .selectFrom('receipts')
    .innerJoin('receipt_checks', 'receipt_checks.receipt_id', 'receipts.id')
    .select([
      'receipts.id',
      'receipts.job_id',
      'receipts.chain',
      'receipts.tx_hash',
      'receipts.from_wallet',
      'receipts.from_display',
      'receipts.to_wallet',
      'receipts.to_display',
      'receipts.amount_micro_usdc',
      'receipt_checks.payer',
      'receipt_checks.block_number',
      'receipt_checks.block_at',
    ])
    .where(sql<boolean>`receipts.job_id glob 'pact-[1-9]*'`)
    // Unary plus keeps these two off their indexes: nearly all receipts are verified, few are of a pact.
    .where(sql<boolean>`+receipts.onchain = 'verified'`)
    .where(sql<boolean>`+receipts.verification = 'verified'`)
    .orderBy('receipt_checks.block_number')
    .orderBy('receipts.seq')
    .limit(receiptsLimit)
    .execute()
  return rows.flatMap((row): PactReceipt[] => {
    const [, number] = /^pact-([1-9]\d{0,8})$/.exec(row.job_id ?? '') ?? []
    const { chain, tx_hash: txHash, block_number: block, block_at: blockAt } = row
    if (number === undefined || chain === null || txHash === null) return []
    const payer = row.from_wallet ?? row.payer
    if (block === null || blockAt === null || payer === null) return []
    return [
      {
        receiptId: row.id,
        pactId: Number(number),
        chain,
        txHash,
        payer: { id: payer, display: row.from_display ?? payer },
        worker: { id: row.to_wallet, display: row.to_display },
        amountMicroUsdc: row.amount_micro_usdc,
        block,
        settledAtMs: Date.parse(blockAt),
      },
    ]
  })
}
