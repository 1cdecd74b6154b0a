import type { Generated } from 'kysely'

export interface BoundsTables {
  network_writes: NetworkWritesTable
  names: NamesTable
}

interface NetworkWritesTable {
  id: Generated<number>
  kind: 'registration' | 'receipt'
  network: string
  created_at: string
}

/** Skeletons of display names, see `core/look-alike.ts`. */
interface NamesTable {
  wallet: string
  kind: 'worker' | 'claim' | 'partner'
  skeleton: string
  since: string
}
