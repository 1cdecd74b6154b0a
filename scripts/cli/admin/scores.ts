import type { OpenDatabase } from '../../../src/db/open.ts'
import { recomputeScores } from '../../../src/db/score-check.ts'
import { exitCodes, table } from '../output.ts'
import type { Session } from '../session.ts'
import { withDatabase } from './settings.ts'

export async function checkScores(session: Session): Promise<number> {
  // Reads in one transaction, since writes continue.
  const read = ({ db }: OpenDatabase) => db.transaction().execute((tx) => recomputeScores(tx))
  const found = await withDatabase(session, read, true)
  const { wallets, entries, differences } = found
  const good = differences.length === 0
  const text = good
    ? `${wallets} wallets, ${entries} entries: every score equals the sum of its entries.\n`
    : table(['wallet', 'field', 'stored', 'recomputed'], differences)
  session.print({ good, ...found }, text)
  return good ? exitCodes.ok : exitCodes.refused
}
