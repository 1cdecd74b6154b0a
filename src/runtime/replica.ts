import { hostname } from 'node:os'

import type { OpenDatabase } from '../db/open.ts'

/** Names the rows of this replica; null if the service has no others. */
export function replicaOf({ engine }: Pick<OpenDatabase, 'engine'>): string | null {
  return engine === 'postgres' ? hostname() : null
}
