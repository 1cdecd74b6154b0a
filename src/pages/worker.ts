import type { Receipt } from '../contract/schemas/receipt.ts'
import type { LeaderboardEntry, Worker } from '../contract/schemas/worker.ts'
import { counted } from '../core/number-text.ts'
import { fact, facts, links, para, section } from './blocks.ts'
import type { Fact } from './blocks.ts'
import { amount, hash, time, usdc } from './figures.ts'
import { address, code, inline, join, link, small, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { workerPath } from './paths.ts'
import { receiptTable } from './receipt.ts'
import { cell, column, dayColumn, fixedColumn, table } from './table.ts'
import type { TableCell } from './table.ts'

/** Warns about a name that looks like an earlier one. */
export function nameText(
  name: string,
  { looks_like_another: isLookAlike }: { readonly looks_like_another?: true | undefined },
  shown: HtmlAndMarkdown = untrustedText(name),
): HtmlAndMarkdown {
  return isLookAlike === true ? inline`${shown} ${small('looks like another name')}` : shown
}

/** `none` is shown for a missing name. */
export function nameCell(
  name: string | null | undefined,
  worker: Parameters<typeof nameText>[1],
  none: string,
): TableCell {
  return typeof name === 'string'
    ? cell(nameText(name, worker), name.toLowerCase())
    : cell(none, '')
}

export function workerTable(caption: Inline, workers: readonly Worker[]): HtmlAndMarkdown {
  return table(workers, {
    id: 'workers',
    caption,
    columns: [
      column('Name', (worker) => nameCell(worker.display_name, worker, 'no name')),
      column('Wallet', ({ wallet }) => cell(link(workerPath(wallet), hash(wallet)), wallet)),
      fixedColumn('Skills', ({ skills }) => join(skills.map(untrustedText), ', ')),
      dayColumn('Registered', (worker) => worker.registered_at),
    ],
    empty: 'No workers yet.',
  })
}

export interface WorkerPageOptions {
  readonly worker: Worker | undefined
  readonly standing: LeaderboardEntry | undefined
  readonly receipts: readonly Receipt[]
  readonly receiptsCaption: string
}

const claimTexts = {
  none: 'no',
  key: 'yes, with the key of the wallet',
  email: 'by e-mail, which proves nothing about the wallet',
} as const

export function workerPage(wallet: string, options: WorkerPageOptions): SitePage {
  const { worker, standing, receipts, receiptsCaption } = options
  const name = standing?.display_name ?? worker?.display_name ?? null
  return {
    path: workerPath(wallet),
    title: name ?? `Worker ${wallet.slice(0, 10)}…${wallet.slice(-6)}`,
    description: `The worker with the wallet ${wallet}: skills, rank and receipts.`,
    nav: '/leaderboard',
    listed: false,
    body: [
      facts([
        ['Wallet', code(wallet)],
        (standing ?? worker)?.looks_like_another === true
          ? ['Name', 'looks like the earlier name of another wallet']
          : null,
        [
          'Rank',
          standing === undefined
            ? 'not on the leaderboard'
            : inline`${standing.rank}, score ${amount(standing.rep_score)}`,
        ],
        fact(
          'Earned',
          standing,
          (entry) =>
            inline`${usdc(entry.total_usdc_lifetime)} in ${counted(entry.receipts_count, 'receipt')}`,
        ),
        fact('Spot claimed', standing, ({ claim }) => claimTexts[claim ?? 'none']),
        ...(worker === undefined ? ([['Registered', 'no']] as const) : registration(worker)),
      ]),
      worker?.bio === undefined ? null : para(untrustedText(worker.bio)),
      section(
        'receipts',
        'Receipts',
        receiptTable('receipts-table', receiptsCaption, receipts),
        links([[`/api/v1/receipts?wallet=${wallet}`, 'All receipts, JSON']]),
      ),
      links([
        ['/leaderboard', 'Leaderboard'],
        ['/workers', 'All workers'],
      ]),
    ],
  }
}

function registration(worker: Worker): readonly Fact[] {
  return [
    ['Registered', time(worker.registered_at)],
    ['Skills', join(worker.skills.map(untrustedText), ', ')],
    fact('Address', worker.url, address),
    fact('Key that signs receipts', worker.receipt_key, code),
  ]
}
