import { parseTime, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'

type Present<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

export function present<Values extends object>(values: Values): Present<Values> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only members that are undefined are left out
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Present<Values>
}

export function walletIdOf(wallet: string | undefined): string | undefined {
  return wallet === undefined ? undefined : parseWallet(wallet).id
}

/** Normalizes an RFC 3339 time to the stored form. */
export function sinceOf(since: string | undefined): string | undefined {
  return since === undefined ? undefined : isoTime(parseTime(since) ?? 0)
}
