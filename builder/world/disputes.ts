import { disputeViews, listDisputes } from '../../src/db/disputes.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { countRows } from '../../src/db/records.ts'
import { nextCursor } from './community.ts'
import type { World } from './world.ts'

/** More than the list shows, for the pages of the disputed data. */
const gathered = 500

export async function gatherDisputes(
  { reader }: OpenDatabase,
  nowMs: number,
): Promise<World['disputes']> {
  const records = await listDisputes(reader, { limit: gathered, before: null })
  return {
    newest: await disputeViews(reader, records, nowMs),
    total: await countRows(reader.selectFrom('disputes')),
    next: nextCursor('disputes', records),
  }
}
