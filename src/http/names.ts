import type { ActionDeps } from '../actions/deps.ts'
import { namedWallets } from '../db/names.ts'
import type { Names } from '../pages/names.ts'

/** Names of rails and of the given wallets, for a page. */
export async function namesOf(
  { database, reference }: Pick<ActionDeps, 'database' | 'reference'>,
  wallets: readonly (string | null)[],
): Promise<Names> {
  return {
    rails: reference().rails,
    wallets: await database.list((db) => namedWallets(db, wallets)),
  }
}
