import type { Generated } from 'kysely'

export interface BoundsTables {
  network_writes: NetworkWritesTable
  names: NamesTable
}

/** Kept for two days. */
interface NetworkWritesTable {
  id: Generated<number>
  kind: 'registration' | 'receipt'
  /** A keyed hash; the key changes daily. */
  network: string
  created_at: string
}

/** Display names as they look, see `core/look-alike.ts`. */
interface NamesTable {
  wallet: string
  kind: 'worker' | 'claim' | 'partner'
  skeleton: string
  /** Since when the wallet has a name that looks so. */
  since: string
}
