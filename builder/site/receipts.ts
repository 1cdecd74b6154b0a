/** `/receipts` with its search, and a page and a signed record for each receipt. */
import type { Receipt } from '../../src/contract/schemas/receipt.ts'
import { jobExchange } from '../../src/core/job.ts'
import { counted } from '../../src/core/number-text.ts'
import { asJson } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { facts, links, para, section, verifyBox } from './blocks.ts'
import { pill, time, usdc } from './figures.ts'
import { address, code, untrustedText, link, inline } from './html-and-markdown.ts'
import type { Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { workerPath, workerWallets } from './people.ts'
import { railPath } from './rail-parts.ts'
import { receiptPath, receiptTable } from './receipt-parts.ts'
import { more, searchForm } from './search.ts'

export function receiptsPage({ community }: World): SitePage {
  const { receipts, receiptsTotal, receiptsVerified, receiptsNext } = community
  return {
    path: '/receipts',
    title: 'Receipts',
    description: `${counted(receiptsTotal, 'receipt')} that somebody was paid on a rail; ${receiptsVerified} of them verified.`,
    nav: '/receipts',
    alternates: [{ type: 'application/json', href: '/api/v1/receipts', title: 'JSON' }],
    body: [
      para(
        'A receipt says who was paid, by whom, how much and where, and is signed by a platform or by the worker. What stands on a chain is checked there; the word says how that went.',
        'lede',
      ),
      searchForm({
        kind: 'receipts',
        what: 'Receipt id, or wallet of the worker',
        byHand:
          'A receipt is at /receipts/ and its id; those of a worker at /api/v1/receipts?wallet= and the wallet.',
      }),
      receiptTable('receipts', `The newest ${receipts.length} of ${receiptsTotal}.`, receipts),
      more('receipts', receiptsNext),
      links([
        ['/api/v1/receipts', 'As JSON'],
        ['/docs/signing', 'How to send one in'],
        ['/docs/receipts', 'How one is checked'],
        ['/leaderboard', 'What receipts earn'],
      ]),
    ],
  }
}

/** Where the signed record of a receipt lies, as the ledger held it when the page was built. */
function recordPath(id: string): string {
  return `${receiptPath(id)}.json`
}

export function* receiptPages(world: World): Generator<SitePage> {
  const wallets = workerWallets(world.community)
  for (const receipt of world.community.receipts) yield receiptPage(receipt, wallets, world)
}

export function* receiptRecords({ community }: World): Generator<PublicDocument> {
  for (const receipt of community.receipts) {
    yield {
      path: recordPath(receipt.receipt_id),
      contentType: 'application/json',
      maxAgeSeconds: 60,
      body: { json: asJson(receipt), stamp: null },
      archive: null,
    }
  }
}

function receiptPage(
  receipt: Receipt,
  wallets: ReadonlySet<string>,
  { rails, pacts }: World,
): SitePage {
  const id = receipt.receipt_id
  const wallet = (value: string): Inline =>
    wallets.has(value) ? link(workerPath(value), code(value)) : code(value)
  const pact = pacts.settled.find((entry) => entry.receipt_id === id)
  const isListed = rails.some(({ authored }) => authored.rail === receipt.rail)
  return {
    path: receiptPath(id),
    title: `Receipt ${id.slice(0, 12)}…${id.slice(-6)}`,
    description: `${usdc(receipt.amount_usdc).md} ${claimOf(receipt)} on ${receipt.rail}: ${receipt.verification}.`,
    nav: '/receipts',
    listed: false,
    madeOf: [
      receipt,
      isListed,
      pact?.pact_id ?? null,
      [receipt.from_wallet, receipt.to_wallet].map((value) => wallets.has(value ?? '')),
    ],
    body: () => [
      para(
        inline`${pill(receipt.verification)} ${usdc(receipt.amount_usdc)} ${claimOf(receipt)} at ${time(Date.parse(receipt.occurred_at))}`,
        'lede',
      ),
      receipt.verification_reason === undefined
        ? null
        : para(untrustedText(receipt.verification_reason)),
      facts([
        ['Receipt', code(id)],
        [
          'Rail',
          isListed
            ? link(railPath(receipt.rail), untrustedText(receipt.rail))
            : untrustedText(receipt.rail),
        ],
        ['From', receipt.from_wallet === undefined ? 'not stated' : wallet(receipt.from_wallet)],
        ['To', wallet(receipt.to_wallet)],
        ['Amount', usdc(receipt.amount_usdc)],
        [
          'Issued',
          receipt.kind === 'platform'
            ? inline`by the platform ${untrustedText(receipt.platform ?? 'unknown')}`
            : 'signed by the worker',
        ],
        ['Checked on its chain', checkedText(receipt)],
        receipt.onchain?.block_number === undefined
          ? null
          : ['Block', blockText(receipt.onchain, receipt.onchain.block_number)],
        receipt.chain === undefined ? null : ['Chain', untrustedText(receipt.chain)],
        receipt.tx_hash === undefined
          ? null
          : [
              'Transaction',
              receipt.explorer_url === undefined
                ? code(receipt.tx_hash)
                : link(receipt.explorer_url, code(receipt.tx_hash)),
            ],
        receipt.job_id === undefined
          ? null
          : [
              'Job',
              pact === undefined
                ? untrustedText(receipt.job_id)
                : link(`/pacts/${pact.pact_id}`, untrustedText(receipt.job_id)),
            ],
        receipt.summary === undefined ? null : ['Summary', untrustedText(receipt.summary)],
        receipt.evidence_url === undefined ? null : ['Evidence', address(receipt.evidence_url)],
        ['Accepted', time(Date.parse(receipt.accepted_at))],
      ]),
      section('check', 'Check it', verifyBox(recordPath(id), 'the signed record of this receipt')),
      links([
        [recordPath(id), 'Signed record, JSON'],
        ['/receipts', 'All receipts'],
        ['/docs/verifying', 'How to verify'],
        ['/docs/receipts', 'How a receipt is checked on its chain'],
      ]),
    ],
  }
}

/** What may be said of the amount: only what was verified was paid. */
function claimOf({ platform, verification }: Receipt): string {
  if (platform === jobExchange.platform) return 'agreed for accepted work'
  return verification === 'verified' ? 'paid' : 'said to be paid'
}

const verdicts: Readonly<Record<NonNullable<Receipt['onchain']>['verdict'], string>> = {
  unchecked: 'no',
  pending: 'not yet: the transaction is in no block',
  not_found: 'no: the chain does not know the transaction',
  soft: 'not yet: its block may still be reorganised',
  safe: 'provisionally: its block is safe and not final',
  final: 'yes: its block is final',
  reverted: 'refused: the transaction was reverted',
  mismatch: 'refused: the transaction does not bear the receipt out',
}

function checkedText({ tx_hash: txHash, onchain }: Receipt): Inline {
  if (onchain !== undefined) return verdicts[onchain.verdict]
  return txHash === undefined ? 'no: it names no transaction' : 'not yet'
}

function blockText(
  { block_at: at, log_index: place }: NonNullable<Receipt['onchain']>,
  block: number,
): Inline {
  const when = at === undefined ? null : inline` of ${time(Date.parse(at))}`
  const log = place === undefined ? null : inline`, log ${String(place)}`
  return inline`${code(String(block))}${when}${log}`
}
