/** What shows that a payment happened: a word with a mark. "Paid" is said only of payments that are proven on chain. */
import type { Receipt } from '../contract/schemas/receipt.ts'
import { jobExchange } from '../core/job.ts'
import { pill, shortAmount, sub } from './figures.ts'
import { inline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'

export type Evidence =
  | 'on chain'
  | 'attested'
  | 'agreed'
  | 'signed by the seller'
  | 'claimed'
  | 'reversed'
  | 'rejected'

export function evidenceOf(
  receipt: Pick<Receipt, 'kind' | 'onchain_verified' | 'platform' | 'verification'>,
): Evidence {
  const { kind, onchain_verified: isOnChain, platform, verification } = receipt
  if (verification === 'rejected') return 'rejected'
  if (isOnChain) return 'on chain'
  if (platform === jobExchange.platform) return 'agreed'
  if (kind === 'x402') return 'signed by the seller'
  if (kind !== 'platform') return 'claimed'
  // Receipts of platforms wait for the chain only after a reversal.
  return verification === 'verified' ? 'attested' : 'reversed'
}

const chainNotes = {
  unchecked: 'no check on this chain',
  pending: 'in no block yet',
  not_found: 'transaction not found',
  soft: 'in a block, not final',
  safe: 'in a safe block, not final',
  final: null,
  reverted: 'transaction failed',
  mismatch: 'transaction does not match',
} as const satisfies Readonly<Record<NonNullable<Receipt['onchain']>['verdict'], string | null>>

/** The state of the transaction, unless it is final; null without a transaction. */
export function chainNote(receipt: Receipt): string | null {
  const { tx_hash: tx, onchain, onchain_verified: isDone } = receipt
  if (onchain !== undefined) return chainNotes[onchain.verdict]
  return tx === undefined || isDone ? null : 'not checked yet'
}

export function evidenceMark(receipt: Receipt): HtmlAndMarkdown {
  const note = chainNote(receipt)
  const word = pill(evidenceOf(receipt))
  return note === null ? word : inline`${word} ${sub(note)}`
}

/** Null until the chain says it. */
export function knownAmount(receipt: Pick<Receipt, 'amount_usdc' | 'unknown_figures'>) {
  return receipt.unknown_figures === undefined ? receipt.amount_usdc : null
}

/** The amount in the ink of its evidence. */
export function amountInk(
  receipt: Receipt,
  text = knownAmount(receipt) === null
    ? 'unknown amount'
    : `${shortAmount(receipt.amount_usdc)} USDC`,
): HtmlAndMarkdown {
  return { html: html`<span class="ink" data-is="${evidenceOf(receipt)}">${text}</span>`, md: text }
}

const meanings = [
  ['on chain', 'anyone can find the transfer. Only these are called paid'],
  ['attested', 'the word of a registered platform, which signed it'],
  ['agreed', 'work accepted on the job exchange, which moves no money'],
  ['signed by the seller', 'the word of the seller alone'],
  ['claimed', 'the word of the worker alone'],
  ['reversed', 'its transaction is no longer confirmed'],
  ['rejected', 'the chain contradicts it'],
] as const

/** What each mark says. */
export const evidenceLegend: HtmlAndMarkdown = {
  html: html`<ul class="evidence">
    ${meanings.map(([word, meaning]) => html`<li>${pill(word).html} ${meaning}</li>`)}
  </ul>`,
  md: meanings.map(([word, meaning]) => `- ${word}: ${meaning}`).join('\n'),
}
