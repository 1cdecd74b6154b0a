/** Filters of lists from parsed query parameters. */
import { parseTime, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'

type Present<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

/** The members that are not undefined. */
export function present<Values extends object>(values: Values): Present<Values> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only members that are undefined are left out
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Present<Values>
}

/** The canonical id of a wallet that the registry has validated. */
export function walletIdOf(wallet: string | undefined): string | undefined {
  return wallet === undefined ? undefined : parseWallet(wallet).id
}

/** An RFC 3339 time in the form that rows are compared by. */
export function sinceOf(since: string | undefined): string | undefined {
  return since === undefined ? undefined : isoTime(parseTime(since) ?? 0)
}
