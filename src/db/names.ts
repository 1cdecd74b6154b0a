/** Skeletons of display names of workers, claims and partners, with the first user of each. */

import { sql } from 'kysely'

import { skeletonOf } from '../core/look-alike.ts'
import { insertRows } from './insert-rows.ts'
import { deleteRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NameKind = RecordOf<'names'>['kind']

/** A new name with the same skeleton keeps the time of the old name. */
export async function putName(
  db: Db,
  named: {
    readonly wallet: string
    readonly kind: NameKind
    /** Null deletes the name. */
    readonly name: string | null
    readonly now: string
  },
): Promise<void> {
  const { wallet, kind, name, now } = named
  const skeleton = name === null ? null : skeletonOf(name)
  if (skeleton === null) {
    await deleteRecords(db, 'names', { wallet, kind })
    return
  }
  const replace =
    '(wallet, kind) do update set skeleton = excluded.skeleton, since = excluded.since where names.skeleton <> excluded.skeleton'
  await insertRows(db, 'names', [{ wallet, kind, skeleton, since: now }], replace)
}

/** Returns wallets whose name resembles a name that another wallet used first. */
export async function lookAlikes(
  db: Db,
  kind: NameKind,
  wallets: readonly string[],
): Promise<ReadonlySet<string>> {
  if (wallets.length === 0) return new Set()
  // With `exists`, a name used by thousands of wallets costs no more than others.
  const rows = await db
    .selectFrom('names as own')
    .select('own.wallet')
    .where('own.wallet', 'in', wallets)
    .where('own.kind', '=', kind)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('names as other')
          .select('other.wallet')
          .whereRef('other.skeleton', '=', 'own.skeleton')
          .whereRef('other.wallet', '<>', 'own.wallet')
          .where(sql<boolean>`(other.since, other.wallet) < (own.since, own.wallet)`),
      ),
    )
    .execute()
  return new Set(rows.map(({ wallet }) => wallet))
}

/** The public name and page of a registered wallet. */
export interface NamedWallet {
  readonly name: string | null
  /** Null for a worker. */
  readonly handle: string | null
  readonly looks_like_another?: true
}

/** Workers, and else partners, among the wallets, by the wallet as displayed. */
export async function namedWallets(
  db: Db,
  wallets: readonly (string | null)[],
): Promise<ReadonlyMap<string, NamedWallet>> {
  const ids = [...new Set(wallets.filter((wallet) => wallet !== null))]
  if (ids.length === 0) return new Map()
  const [workers, partners, likeWorkers, likePartners] = await Promise.all([
    db
      .selectFrom('workers')
      .select(['wallet', 'display', 'display_name'])
      .where('wallet', 'in', ids)
      .execute(),
    db
      .selectFrom('partners')
      .select(['wallet', 'display', 'display_name', 'handle'])
      .where('wallet', 'in', ids)
      .execute(),
    lookAlikes(db, 'worker', ids),
    lookAlikes(db, 'partner', ids),
  ])
  const mark = (alike: ReadonlySet<string>, wallet: string) =>
    alike.has(wallet) ? { looks_like_another: true as const } : {}
  return new Map<string, NamedWallet>([
    ...partners.map((row) => {
      const { display, display_name: name, handle, wallet } = row
      return [display, { name, handle, ...mark(likePartners, wallet) }] as const
    }),
    ...workers.map((row) => {
      const { display, display_name: name, wallet } = row
      return [display, { name, handle: null, ...mark(likeWorkers, wallet) }] as const
    }),
  ])
}
