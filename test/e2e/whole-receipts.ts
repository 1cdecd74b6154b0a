/** The receipts of a ledger, looked at in its own database: nothing lost a part, nothing counted twice. */
import { sql } from 'kysely'
import { expect } from 'vitest'

import { recomputeScores } from '../../src/db/score-check.ts'
import type { Ledger } from './ledger.ts'

/** Ids of all receipts; the file is sound, each receipt earned once, and the scores are what the entries say. */
export async function wholeReceipts(ledger: Ledger): Promise<ReadonlySet<string>> {
  return await ledger.withDatabase(async ({ reader }) => {
    const { rows } = await sql`pragma quick_check`.execute(reader)
    expect(rows).toEqual([{ quick_check: 'ok' }])
    const receipts = await reader.selectFrom('receipts').select('id').execute()
    const entries = await reader.selectFrom('reputation_ledger').select('receipt_id').execute()
    const messages = await reader.selectFrom('used_messages').select('wallet').execute()
    const ids = new Set(receipts.map(({ id }) => id))
    expect([receipts.length, entries.length, messages.length]).toEqual(Array(3).fill(ids.size))
    expect(new Set(entries.map(({ receipt_id: id }) => id))).toEqual(ids)
    expect((await recomputeScores(reader)).differences).toEqual([])
    return ids
  })
}
