/** Names of rails and wallets, linked to their pages. */
import { hash, sub } from './figures.ts'
import { inline, link, small, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { partnerPath, railPath, workerPath } from './paths.ts'

export interface Names {
  /** By slug; only rails of this list have a page. */
  readonly rails: ReadonlyMap<string, { readonly display_name: string }>
  /** Registered wallets. */
  readonly wallets: ReadonlyMap<
    string,
    { readonly name: string | null; readonly handle: string | null } & LookAlike
  >
}

interface LookAlike {
  readonly looks_like_another?: true | undefined
}

/** Warns about a name that looks like an earlier one. */
export function nameText(
  name: string,
  { looks_like_another: isLookAlike }: LookAlike,
  shown: HtmlAndMarkdown = untrustedText(name),
): HtmlAndMarkdown {
  return isLookAlike === true ? inline`${shown} ${small('looks like another name')}` : shown
}

/** The name, linked to its page, above the wallet; the wallet alone if it has no name. */
export function namedWallet(
  wallet: string,
  { name, ...marks }: { readonly name: string | null | undefined } & LookAlike,
  path: string | null,
): HtmlAndMarkdown {
  const linked = (shown: HtmlAndMarkdown) => (path === null ? shown : link(path, shown))
  if (typeof name !== 'string') return linked(hash(wallet))
  return inline`${nameText(name, marks, linked(untrustedText(name)))} ${sub(hash(wallet))}`
}

/** A wallet that may not be registered, and then has no page. */
export function walletText(wallet: string, { wallets }: Pick<Names, 'wallets'>): HtmlAndMarkdown {
  const known = wallets.get(wallet)
  if (known === undefined) return hash(wallet)
  const { handle } = known
  return namedWallet(wallet, known, handle === null ? workerPath(wallet) : partnerPath(handle))
}

/** A wallet with receipts always has a page. */
export function workerText(wallet: string, { wallets }: Pick<Names, 'wallets'>): HtmlAndMarkdown {
  return namedWallet(wallet, wallets.get(wallet) ?? { name: null }, workerPath(wallet))
}

export function railTitle(rail: string, { rails }: Pick<Names, 'rails'>): string {
  return rails.get(rail)?.display_name ?? rail
}

/** Linked if the rail has a page. */
export function railName(rail: string, names: Pick<Names, 'rails'>): HtmlAndMarkdown {
  const title = untrustedText(railTitle(rail, names))
  return names.rails.has(rail) ? link(railPath(rail), title) : title
}
