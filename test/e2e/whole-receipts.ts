import { sql } from 'kysely'
import { expect } from 'vitest'

import type { OpenDatabase } from '../../src/db/open.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import type { Ledger } from './ledger.ts'

export async function wholeReceipts(ledger: Ledger): Promise<ReadonlySet<string>> {
  return await ledger.withDatabase(expectWholeReceipts)
}

/** Expects one reputation entry and one used message for each receipt, and scores that equal the entries. */
export async function expectWholeReceipts({
  reader,
  engine,
}: Pick<OpenDatabase, 'reader' | 'engine'>): Promise<ReadonlySet<string>> {
  if (engine === 'sqlite') {
    const { rows } = await sql`pragma integrity_check`.execute(reader)
    expect(rows).toEqual([{ integrity_check: 'ok' }])
  }
  const receipts = await reader.selectFrom('receipts').select('id').execute()
  const entries = await reader.selectFrom('reputation_ledger').select('receipt_id').execute()
  const messages = await reader.selectFrom('used_messages').select('wallet').execute()
  const ids = new Set(receipts.map(({ id }) => id))
  expect([receipts.length, entries.length, messages.length]).toEqual(Array(3).fill(ids.size))
  expect(new Set(entries.map(({ receipt_id: id }) => id))).toEqual(ids)
  expect((await recomputeScores(reader)).differences).toEqual([])
  return ids
}
