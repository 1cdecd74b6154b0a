import { pathOf } from '../contract/routes.ts'
import type { Dispute } from '../contract/schemas/dispute.ts'
import type { Flag } from '../contract/schemas/flag.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { jobExchange } from '../core/job.ts'
import { capitalized, grouped } from '../core/number-text.ts'
import {
  doubt,
  fact,
  glance,
  links,
  para,
  section,
  slip,
  standing,
  verdict,
  verifyReceiptBox,
} from './blocks.ts'
import { disputeSection } from './dispute.ts'
import { amountInk, chainNote, evidenceMark, evidenceOf, knownAmount } from './evidence.ts'
import type { Evidence } from './evidence.ts'
import { amount, amountText, day, hash, pill, sub, time, usdc } from './figures.ts'
import { address, code, inline, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { railName, railTitle, walletText, workerText } from './names.ts'
import type { Names } from './names.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { jobPath, pactPath, receiptPath } from './paths.ts'
import { proof } from './proof.ts'
import type { ProofStep } from './proof.ts'
import { cell, column, dayColumn, table } from './table.ts'
import { graphemes } from './text-lines.ts'

/** `of`: the worker of all receipts, who needs no column. */
export function receiptTable(
  id: string,
  caption: Inline,
  receipts: readonly Receipt[],
  names: Names,
  of: 'all' | 'worker' = 'all',
): HtmlAndMarkdown {
  return table(receipts, {
    id,
    caption,
    columns: [
      column('Amount', (receipt) =>
        cell(link(receiptPath(receipt.receipt_id), amountInk(receipt)), receipt.amount_usdc),
      ),
      column('Evidence', (receipt) => cell(evidenceMark(receipt), evidenceOf(receipt))),
      column(
        'For',
        ({ rail, summary = '' }) => {
          const work = summary === '' ? null : sub(untrustedText(firstWords(summary)))
          return cell(inline`${railName(rail, names)} ${work}`, rail)
        },
        { kind: 'wide' },
      ),
      column('From', ({ from_wallet: from }) =>
        from === undefined ? 'not stated' : cell(walletText(from, names), from),
      ),
      of === 'worker' ? null : column('To', ({ to_wallet: to }) => cell(workerText(to, names), to)),
      dayColumn('Date', (receipt) => receipt.occurred_at),
    ],
    empty: 'No receipts yet.',
  })
}

const shownCharacters = 90

function firstWords(text: string): string {
  const characters = graphemes(text, shownCharacters + 1)
  return characters.length <= shownCharacters
    ? text
    : `${characters.slice(0, shownCharacters - 1).join('')}…`
}

export interface ReceiptPageOptions {
  readonly names: Names
  /** The name of the registered platform that issued the receipt. */
  readonly platformName: string | undefined
  /** The settled pact of the receipt. */
  readonly pactId: string | null
  /** What an open flag says about this receipt. */
  readonly contradiction: { readonly flag: Flag; readonly text: string } | null
  /** Null before the receipt is in the published log. */
  readonly logIndex: number | null
  /** Number of witnesses that must cosign; null if none is configured. */
  readonly quorum: number | null
  /** Whether they have cosigned a checkpoint that contains the receipt. */
  readonly isWitnessed: boolean
  /** What the receipt has earned so far. */
  readonly points: number
  readonly disputes: readonly Dispute[]
}

export function receiptPage(receipt: Receipt, options: ReceiptPageOptions): SitePage {
  const { names, disputes, logIndex, contradiction, points } = options
  const id = receipt.receipt_id
  const evidence = evidenceOf(receipt)
  const issuer = issuerOf(receipt, options)
  const rail = railTitle(receipt.rail, names)
  const note = chainNote(receipt)
  const sum = knownAmount(receipt) === null ? 'Unknown amount' : usdc(receipt.amount_usdc).md
  return {
    path: receiptPath(id),
    title: `${sum} on ${rail}`,
    description: `${sum} on ${rail}, ${day(receipt.occurred_at).md}: ${evidence}.`,
    ...entryOf('/receipts', 'Receipts', rail),
    body: [
      standing([
        pill(evidence, 'big'),
        inline`${evidence === 'on chain' ? 'paid' : 'dated'} ${time(receipt.occurred_at)}`,
        note,
      ]),
      verdict(verdictOf(receipt, issuer)),
      paymentSlip(receipt, names, evidence),
      contradiction === null
        ? null
        : doubt(
            contradiction.flag.severity,
            inline`${untrustedText(capitalized(contradiction.text))}. ${link(`/honesty#${contradiction.flag.id}`, untrustedText(contradiction.flag.title))}`,
          ),
      glance(
        [
          ['Issued by', issuer],
          ['Accepted', time(receipt.accepted_at)],
          ['Rail', railName(receipt.rail, names)],
          fact('Chain', receipt.chain, untrustedText),
          fact('Job', receipt.job_id, (job) => jobLink(job, receipt, options.pactId)),
          fact('Evidence', receipt.evidence_url, address),
          ['Earned so far', points === 1 ? '1 point' : inline`${amount(points)} points`],
        ],
        [
          receipt.explorer_url === undefined
            ? ['#proof', 'Check it']
            : [
                receipt.explorer_url,
                evidence === 'on chain' ? 'See the transfer' : 'See the transaction',
              ],
          [pathOf('getReceipt', { id }), 'JSON with signature', 'quiet'],
          ['/docs/disputing', 'Dispute', 'warn'],
        ],
      ),
      section(
        'proof',
        'What is proven',
        para(
          'The line is solid as far as the proof goes; where it is dashed, you rely on someone’s word.',
          'soft',
        ),
        proof(
          [
            {
              state: 'yes',
              title: 'Nobody changed it',
              result: 'SHA-256',
              text: inline`The id is the hash of the receipt: ${code(id)}.`,
            } as const,
            signatureStep(receipt, issuer),
            paymentStep(receipt, issuer),
            logStep(id, logIndex),
            witnessStep(options),
          ].toSorted((a, b) => Number(a.state !== 'yes') - Number(b.state !== 'yes')),
        ),
        verifyReceiptBox(receipt, logIndex !== null),
        doubt(
          evidence === 'on chain' ? 'info' : 'warning',
          inline`Not proven: ${evidence === 'on chain' ? '' : 'that money moved, '}that the work was done, and that payer and worker are strangers. ${link('/docs/reputation#independence', 'How links between them are found')}`,
        ),
      ),
      disputeSection(disputes, `/api/v1/disputes?target=${id}`),
      links([
        ['/receipts', 'All receipts'],
        ['/docs/verifying', 'How to verify'],
        ['/docs/receipts', 'How receipts are verified on-chain'],
      ]),
    ],
  }
}

function issuerOf(
  { kind, platform }: Receipt,
  { platformName }: Pick<ReceiptPageOptions, 'platformName'>,
): HtmlAndMarkdown {
  if (kind === 'x402') return inline`the seller`
  if (kind !== 'platform') return inline`the worker`
  if (platform === jobExchange.platform) return inline`the job exchange`
  return inline`the platform ${untrustedText(platformName ?? platform ?? 'unknown')}`
}

/** Anyone may claim a `job_id`; only those of the exchange and of a settled pact have a page. */
function jobLink(job: string, { platform }: Receipt, pactId: string | null): HtmlAndMarkdown {
  if (pactId !== null) return link(pactPath(pactId), untrustedText(job))
  return platform === jobExchange.platform ? link(jobPath(job), hash(job)) : untrustedText(job)
}

function verdictOf(receipt: Receipt, issuer: HtmlAndMarkdown): Inline {
  const isNamed = receipt.tx_hash !== undefined
  const unconfirmed = ' Its transaction is not confirmed, so that money moved is not proven.'
  const verdicts: Readonly<Record<Evidence, Inline>> = {
    'on chain': inline`The money moved: anyone can find the transfer on ${untrustedText(receipt.chain ?? 'its chain')}. What it was for is the word of ${issuer}.`,
    attested: inline`This is the word of ${issuer}, which signed it.${isNamed ? unconfirmed : ' It names no transaction, so nobody can check that money moved.'}`,
    agreed:
      'The work was accepted on the job exchange for this price. Nothing shows that money moved.',
    'signed by the seller': `This is the word of the seller alone.${unconfirmed}`,
    claimed: inline`Only the worker says so.${isNamed ? unconfirmed : ' No transaction is named, so nobody can check that money moved.'}`,
    reversed: inline`Signed by ${issuer}, but its transaction is no longer confirmed. What it had earned was taken back.`,
    rejected: 'The chain contradicts this receipt, so it counts for nothing.',
  }
  return verdicts[evidenceOf(receipt)]
}

function paymentSlip(receipt: Receipt, names: Names, evidence: Evidence): HtmlAndMarkdown {
  const { from_wallet: from, to_wallet: to, amount_usdc: sum, summary, chain } = receipt
  const [payer, worker] = evidence === 'on chain' ? ['Paid by', 'Paid to'] : ['From', 'To']
  return slip('The payment', [
    {
      title: payer,
      value: from === undefined ? 'not stated' : walletText(from, names),
      note: from !== undefined && evidence === 'claimed' ? 'named by the worker alone' : null,
    },
    {
      title: 'Amount',
      value: amountInk(receipt, knownAmount(receipt) === null ? 'unknown' : amountText(sum)),
      note: inline`USDC${chain === undefined ? null : inline` on ${untrustedText(chain)}`}`,
    },
    {
      title: worker,
      value: workerText(to, names),
      note: summary === undefined ? null : inline`For “${untrustedText(summary)}”`,
    },
  ])
}

function signatureStep(receipt: Receipt, issuer: HtmlAndMarkdown): ProofStep {
  const { kind, platform, authority } = receipt
  if (kind === 'x402') {
    return {
      state: 'yes',
      title: 'Signed by the seller',
      result: 'x402',
      text:
        authority === 'pay_to'
          ? 'With the key of the wallet that receives the money.'
          : inline`With ${untrustedText(authority ?? 'an unknown key')}, which the seller’s site listed when the receipt was accepted.`,
    }
  }
  if (kind === 'erc8004') {
    const text = 'It names a payment, as feedback of ERC-8004 does. Only the chain can show it.'
    return { state: 'open', title: 'Signed by nobody', result: 'ERC-8004', text }
  }
  const isPlatform = kind === 'platform'
  return {
    state: 'yes',
    title: isPlatform ? inline`Signed by ${issuer}` : 'Signed by the worker',
    result: 'Ed25519',
    text: isPlatform
      ? inline`With its ${link(pathOf('listPlatforms'), 'registered key')}, checked when the receipt was accepted.${platform === jobExchange.platform ? ' The signature says that the poster accepted the work for this price.' : null}`
      : 'With the key that the receipt contains. The worker who earns from it may also have written it.',
  }
}

function logStep(id: string, index: number | null): ProofStep {
  const log = link('/docs/transparency#log', 'the log')
  if (index === null) {
    return {
      state: 'open',
      title: 'Not in the log yet',
      result: 'promised',
      text: inline`The ledger has promised with its signature to add it to ${log} within a minute of its acceptance.`,
    }
  }
  return {
    state: 'yes',
    title: 'It cannot be taken back',
    result: `entry ${wholeText(index)}`,
    text: inline`It is in ${log}; removing it would break every later proof. ${link(pathOf('getReceiptProof', { id }), 'Its proof')}`,
  }
}

function witnessStep({ isWitnessed, quorum }: ReceiptPageOptions): ProofStep {
  const missing = quorum === null ? 'no witness configured' : 'no quorum yet'
  return {
    state: isWitnessed ? 'yes' : 'open',
    title: isWitnessed ? 'Others saw the same log' : 'Not witnessed',
    result: isWitnessed ? `cosigned by ${quorum ?? 'a quorum'}` : missing,
    text: isWitnessed
      ? inline`A quorum of ${link('/log/policy', 'the witnesses')} has cosigned a checkpoint that contains the receipt.`
      : inline`Fewer witnesses than required have signed ${link('/docs/transparency#limits', 'this part of the log')}, so the ledger could show others another log.`,
  }
}

const wholeText = (index: number) => grouped(String(index))

function paymentStep(receipt: Receipt, issuer: HtmlAndMarkdown): ProofStep {
  const { tx_hash: tx, onchain, explorer_url: url, from_wallet: from, to_wallet: to } = receipt
  const evidence = evidenceOf(receipt)
  const reason =
    receipt.verification_reason === undefined
      ? null
      : inline` ${untrustedText(receipt.verification_reason)}.`
  if (tx === undefined) {
    return {
      state: 'open',
      title: 'The money: not proven',
      result: 'no transaction named',
      text:
        evidence === 'agreed'
          ? 'The exchange moves no money. Whether the poster sent it, only poster and worker know.'
          : inline`Here you trust ${issuer}.`,
    }
  }
  const block = onchain?.block_number
  const inBlock = block === undefined ? '' : `block ${wholeText(block)}, `
  const transaction = inline`${url === undefined ? code(tx) : link(url, code(tx))}${onchain?.log_index === undefined ? null : `, log ${onchain.log_index}`}`
  if (evidence === 'on chain') {
    const when = onchain?.block_at === undefined ? null : inline`, ${time(onchain.block_at)}`
    return {
      state: 'yes',
      title: 'The money moved',
      result: `${inBlock}final`,
      text: inline`${usdc(receipt.amount_usdc)}${from === undefined ? null : inline` from ${hash(from)}`} to ${hash(to)} in ${transaction}${when}. No other receipt uses this transfer.`,
    }
  }
  const isRefuted = evidence === 'rejected' || evidence === 'reversed'
  return {
    state: isRefuted ? 'no' : 'open',
    title: isRefuted ? 'The chain does not show this payment' : 'The money: not proven yet',
    result: `${inBlock}${chainNote(receipt) ?? 'no longer confirmed'}`,
    text: inline`${transaction}.${reason}`,
  }
}
