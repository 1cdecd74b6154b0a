import { hostname } from 'node:os'

import type { OpenDatabase } from '../db/open.ts'

/** Names the rows of this replica; null with SQLite, which has only one. */
export function replicaOf({ engine }: Pick<OpenDatabase, 'engine'>): string | null {
  return engine === 'postgres' ? hostname() : null
}
