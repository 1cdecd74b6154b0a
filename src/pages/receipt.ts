import type { Dispute } from '../contract/schemas/dispute.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { jobExchange } from '../core/job.ts'
import { fact, facts, introduction, links, para, section, verifyReceiptBox } from './blocks.ts'
import { disputeSection } from './dispute.ts'
import { hash, pill, time, usdc } from './figures.ts'
import { address, code, inline, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { pactPath, railPath, receiptPath, workerPath } from './paths.ts'
import { amountColumn, cell, column, table, timeColumn } from './table.ts'

export function receiptTable(
  id: string,
  caption: Inline,
  receipts: readonly Receipt[],
): HtmlAndMarkdown {
  return table(receipts, {
    id,
    caption,
    columns: [
      column('Receipt', ({ receipt_id: receipt }) =>
        cell(link(receiptPath(receipt), hash(receipt)), receipt),
      ),
      column('Verification', ({ verification }) => pill(verification)),
      column('Rail', ({ rail }) => link(railPath(rail), untrustedText(rail))),
      amountColumn('Amount', 'USDC', (receipt) => receipt.amount_usdc),
      column('From', ({ from_wallet: from }) =>
        from === undefined ? 'not stated' : cell(hash(from), from),
      ),
      column('To', ({ to_wallet: to }) => cell(link(workerPath(to), hash(to)), to)),
      timeColumn('Date', (receipt) => receipt.occurred_at),
    ],
    empty: 'No receipts yet.',
  })
}

export interface ReceiptPageOptions {
  readonly isRailListed: boolean
  /** The settled pact of the receipt. */
  readonly pactId: string | null
  readonly disputes: readonly Dispute[]
}

export function receiptPage(receipt: Receipt, options: ReceiptPageOptions): SitePage {
  const { isRailListed, pactId, disputes } = options
  const id = receipt.receipt_id
  const { from_wallet: from, to_wallet: to, onchain } = receipt
  const rail = untrustedText(receipt.rail)
  return {
    path: receiptPath(id),
    title: `Receipt ${id.slice(0, 12)}…${id.slice(-6)}`,
    description: `${usdc(receipt.amount_usdc).md} ${paymentClaim(receipt)} on ${receipt.rail}: ${receipt.verification}.`,
    nav: '/receipts',
    listed: false,
    body: [
      introduction(
        inline`${pill(receipt.verification)} ${usdc(receipt.amount_usdc)} ${paymentClaim(receipt)} on ${time(receipt.occurred_at)}`,
      ),
      receipt.verification_reason === undefined
        ? null
        : para(untrustedText(receipt.verification_reason)),
      facts([
        ['Receipt', code(id)],
        ['Rail', isRailListed ? link(railPath(receipt.rail), rail) : rail],
        ['From', from === undefined ? 'not stated' : code(from)],
        ['To', link(workerPath(to), code(to))],
        ['Amount', usdc(receipt.amount_usdc)],
        [
          'Issued',
          receipt.kind === 'platform'
            ? inline`by the platform ${untrustedText(receipt.platform ?? 'unknown')}`
            : 'signed by the worker',
        ],
        ['Verified on-chain', onchainText(receipt)],
        fact('Block', onchain?.block_number, (block) => blockText(block, onchain)),
        fact('Chain', receipt.chain, untrustedText),
        fact('Transaction', receipt.tx_hash, (hashText) =>
          receipt.explorer_url === undefined
            ? code(hashText)
            : link(receipt.explorer_url, code(hashText)),
        ),
        fact('Job', receipt.job_id, (job) =>
          pactId === null ? untrustedText(job) : link(pactPath(pactId), untrustedText(job)),
        ),
        fact('Summary', receipt.summary, untrustedText),
        fact('Evidence', receipt.evidence_url, address),
        ['Accepted', time(receipt.accepted_at)],
      ]),
      disputeSection(disputes),
      section('check', 'Check it', verifyReceiptBox(id)),
      links([
        [`/api/v1/receipts/${id}`, 'With its content, JSON'],
        ['/receipts', 'All receipts'],
        ['/docs/verifying', 'How to verify'],
        ['/docs/receipts', 'How receipts are verified on-chain'],
      ]),
    ],
  }
}

/** The word “paid” is used only for verified payments. */
function paymentClaim({ platform, verification }: Receipt): string {
  if (platform === jobExchange.platform) return 'agreed for accepted work'
  return verification === 'verified' ? 'paid' : 'claimed as paid'
}

const verdicts: Readonly<Record<NonNullable<Receipt['onchain']>['verdict'], string>> = {
  unchecked: 'no',
  pending: 'not yet: the transaction is not in a block',
  not_found: 'no: the transaction is not on the chain',
  soft: 'not yet: the block may still be reorganised',
  safe: 'provisionally: the block is safe but not final',
  final: 'yes: the block is final',
  reverted: 'rejected: the transaction was reverted',
  mismatch: 'rejected: the transaction does not match the receipt',
}

function onchainText({ tx_hash: txHash, onchain }: Receipt): Inline {
  if (onchain !== undefined) return verdicts[onchain.verdict]
  return txHash === undefined ? 'no: the receipt has no transaction' : 'not yet'
}

function blockText(block: number, onchain: Receipt['onchain']): Inline {
  const at = onchain?.block_at
  const logIndex = onchain?.log_index
  const when = at === undefined ? null : inline` of ${time(at)}`
  const log = logIndex === undefined ? null : inline`, log ${logIndex}`
  return inline`${code(String(block))}${when}${log}`
}
