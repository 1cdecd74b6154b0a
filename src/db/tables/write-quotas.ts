import type { Generated } from 'kysely'

export interface BoundsTables {
  network_writes: NetworkWritesTable
  names: NamesTable
}

/** Deleted after two days. */
interface NetworkWritesTable {
  id: Generated<number>
  kind: 'registration' | 'receipt'
  /** A keyed hash; the key changes daily. */
  network: string
  created_at: string
}

/** Skeletons of display names, see `core/look-alike.ts`. */
interface NamesTable {
  wallet: string
  kind: 'worker' | 'claim' | 'partner'
  skeleton: string
  /** The time of the wallet's first name with this skeleton. */
  since: string
}
