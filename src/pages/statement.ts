/** The income statement of a worker for a month, also to print. */
import { pathOf } from '../contract/routes.ts'
import { counted } from '../core/number-text.ts'
import { earliestClosing, openMonthText } from '../core/statement.ts'
import type { IncomeStatement } from '../core/statement.ts'
import { facts, glance, links, para, section, standing, verdict } from './blocks.ts'
import { evidenceLegend, knownAmount } from './evidence.ts'
import { amountText, day, hash, pill, sub, time, usdc } from './figures.ts'
import { code, inline, join, link, strong, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { railName, walletText } from './names.ts'
import type { Names } from './names.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { receiptPath, statementPath, workerPath } from './paths.ts'
import { amountColumn, cell, column, countColumn, table } from './table.ts'

/** The CSV has all lines. */
export const shownLines = 500

export function statementPage(
  statement: IncomeStatement,
  { names, sha256 }: { readonly names: Names; readonly sha256: string },
): SitePage {
  const { wallet, month, receipts, corrections, previous, merkle, total_usdc: total } = statement
  const params = { wallet, month }
  const apart = receipts.length - merkle.leaves
  const payers = new Set(receipts.flatMap(({ leaf }) => leaf?.from ?? [])).size
  const owner = names.wallets.get(wallet)?.name ?? `${wallet.slice(0, 10)}…${wallet.slice(-6)}`
  const crumb = [
    ['/workers', 'Workers'],
    [workerPath(wallet), owner],
    [null, month],
  ] as const
  const amounts = {
    corrections: `${amountText(statement.corrections_usdc)} USDC`,
    running: `${amountText(statement.running_total_usdc)} USDC`,
  }
  return {
    path: statementPath(wallet, month),
    title: `Income of ${owner} in ${month}`,
    description: `The income statement of ${wallet} for ${month}: ${usdc(total).md} confirmed on chain.`,
    crumb,
    nav: '/workers',
    listed: false,
    robots: 'noindex',
    json: [pathOf('getStatement', params)],
    body: [
      standing([
        inline`closed ${time(statement.closed_at)}`,
        counted(receipts.length, 'receipt'),
        corrections.length === 0 ? null : counted(corrections.length, 'correction'),
      ]),
      verdict(
        inline`${usdc(total)} confirmed on chain${payers === 0 ? '' : `, from ${counted(payers, 'payer')}`}.${apart === 0 ? '' : ` ${counted(apart, 'other receipt')} ${apart === 1 ? 'is' : 'are'} not in this sum.`}`,
      ),
      glance(
        [
          ['Worker', walletText(wallet, names)],
          ['Confirmed in the month', strong(`${amountText(total)} USDC`)],
          corrections.length === 0 ? null : ['Corrections', amounts.corrections],
          ['Running total', amounts.running],
        ],
        [
          [pathOf('getStatementCsv', params), 'CSV'],
          [pathOf('getStatement', params), 'Signed JSON', 'quiet'],
        ],
      ),
      section('verdicts', 'By verdict', verdictTable(statement), evidenceLegend),
      section('receipts', 'Receipts', receiptLines(statement, names)),
      corrections.length > 0
        ? section('corrections', 'Corrections of earlier statements', correctionLines(statement))
        : null,
      section(
        'proof',
        'What binds it',
        facts([
          ['SHA-256', code(sha256)],
          [
            'Statement before',
            previous === null
              ? 'none, this is the first'
              : inline`${link(statementPath(wallet, previous.month), previous.month)} ${code(previous.sha256)}`,
          ],
          [
            'Merkle root',
            inline`${code(merkle.root)} ${sub(`${counted(merkle.leaves, 'transfer')}, ${merkle.profile} version ${merkle.version}`)}`,
          ],
          ['Not in the root', merkle.left_out],
          ['Log', link(pathOf('getStatementProof', params), 'proof of its entry')],
        ]),
      ),
      section('limits', 'What it is not', para(statement.note)),
      links([
        [workerPath(wallet), 'The worker'],
        ['/docs/statements', 'How statements are made and checked'],
      ]),
    ],
  }
}

/** The page of a month until its statement is made. */
export function openMonthPage(wallet: string, month: string): SitePage {
  const text = openMonthText(month)
  return {
    path: statementPath(wallet, month),
    title: `${month} is still open`,
    description: text,
    ...entryOf('/workers', 'Workers', month),
    robots: 'noindex',
    json: [pathOf('listStatements', { wallet })],
    body: [
      verdict(text),
      links([
        [workerPath(wallet), 'The worker, with its receipts'],
        ['/docs/statements#closing', 'When a month is closed'],
      ]),
    ],
  }
}

type Line = Pick<IncomeStatement['receipts'][number], 'dispute' | 'verdict'>

function verdictCell({ verdict: name, dispute }: Line) {
  const word = name.replaceAll('_', ' ')
  const shown = pill(word)
  return cell(dispute === undefined ? shown : inline`${shown} ${sub(`dispute ${dispute}`)}`, word)
}

function verdictTable({ by_verdict: verdicts }: IncomeStatement): HtmlAndMarkdown {
  const shown = verdicts.filter(({ receipts }) => receipts > 0)
  return table(shown, {
    id: 'verdict-table',
    caption: inline`Only payments on chain are in the total. Of ${link('/docs/statements#totals', 'linked')} ones, payer and worker are one wallet or were found to be one party.`,
    sortable: false,
    columns: [
      column('Verdict', verdictCell),
      countColumn('Receipts', null, (row) => row.receipts),
      amountColumn('Amount', 'USDC', (row) => row.amount_usdc),
    ],
  })
}

function receiptLines({ receipts }: IncomeStatement, names: Names): HtmlAndMarkdown {
  const shown = receipts.slice(0, shownLines)
  return table(shown, {
    id: 'receipts-table',
    caption: `Oldest first, ${shown.length} of ${receipts.length}.`,
    columns: [
      column('Date', ({ receipt_id: id, occurred_at: at }) =>
        cell(link(receiptPath(id), day(at)), at),
      ),
      amountColumn('Amount', 'USDC', knownAmount),
      column('Verdict', verdictCell),
      column('Rail', ({ rail }) => cell(railName(rail, names), rail)),
      column('Payer', ({ payer }) =>
        payer === undefined ? 'not stated' : cell(walletText(payer, names), payer),
      ),
      column('Transfer', ({ chain, tx_hash: tx }) =>
        tx === undefined ? 'none named' : inline`${hash(tx)} ${sub(untrustedText(chain ?? ''))}`,
      ),
    ],
  })
}

function correctionLines({ corrections }: IncomeStatement): HtmlAndMarkdown {
  return table(corrections.slice(0, shownLines), {
    id: 'corrections-table',
    caption: 'What has changed since these receipts were stated.',
    columns: [
      column('Stated in', ({ month }) => month),
      column('Receipt', ({ receipt_id: id }) => link(receiptPath(id), hash(id))),
      column('Was', ({ was }) => verdictCell({ verdict: was })),
      column('Is', ({ is, dispute }) => verdictCell({ verdict: is, dispute })),
      amountColumn('Amount', 'USDC', knownAmount),
      amountColumn('Change', 'USDC', (line) => line.change_usdc),
    ],
  })
}

interface StatedMonths {
  readonly closed: readonly Pick<IncomeStatement, 'month' | 'running_total_usdc' | 'total_usdc'>[]
  readonly open: readonly string[]
}

/** The statements of a worker, newest first; null without any. */
export function statementSection(wallet: string, { closed, open }: StatedMonths) {
  if (closed.length + open.length === 0) return null
  const waiting = open.map(
    (month) =>
      inline`${link(statementPath(wallet, month), month)} (${day(earliestClosing(month))} or later)`,
  )
  return section(
    'statements',
    'Income statements',
    table(closed.toReversed(), {
      id: 'statements-table',
      caption: 'Confirmed on chain, newest first.',
      columns: [
        column('Month', ({ month }) => link(statementPath(wallet, month), month)),
        amountColumn('In the month', 'USDC', (row) => row.total_usdc),
        amountColumn('Running total', 'USDC', (row) => row.running_total_usdc),
      ],
      empty: 'None yet.',
    }),
    para(
      inline`A month is closed at the earliest 15 days after its end, when no check of its receipts is still to come. ${link('/docs/statements', 'How statements are made')}.${open.length === 0 ? null : inline` Not closed yet: ${join(waiting, ', ')}.`}`,
      'soft',
    ),
  )
}
