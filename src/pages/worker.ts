import type { Receipt } from '../contract/schemas/receipt.ts'
import type { LeaderboardEntry, Worker } from '../contract/schemas/worker.ts'
import { counted } from '../core/number-text.ts'
import {
  fact,
  facts,
  glance,
  links,
  para,
  section,
  standing as firstLine,
  verdict,
} from './blocks.ts'
import { evidenceOf } from './evidence.ts'
import { amount, day, shortAmount, sub, time, wholePercent } from './figures.ts'
import {
  address,
  code,
  inline,
  join,
  link,
  small,
  strong,
  untrustedText,
} from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { incomeChart, incomeOf, oncePerJob } from './income.ts'
import type { Income } from './income.ts'
import { namedWallet } from './names.ts'
import type { Names } from './names.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { workerPath } from './paths.ts'
import { receiptTable } from './receipt.ts'
import { statementSection } from './statement.ts'
import { cell, column, dayColumn, figureColumn, fixedColumn, table } from './table.ts'

/** `leaderboard`: of all wallets with a score, or of the best; null omits the column. */
export function workerTable(
  caption: Inline,
  workers: readonly Worker[],
  leaderboard: readonly LeaderboardEntry[] | null = null,
  unranked = 'not ranked',
): HtmlAndMarkdown {
  const standings = new Map(leaderboard?.map((entry) => [entry.wallet, entry]))
  return table(workers, {
    id: 'workers',
    caption,
    columns: [
      column('Worker', (worker) => workerCell(worker, worker.display_name ?? null)),
      leaderboard === null
        ? null
        : figureColumn('Score', 'points', ({ wallet }) => {
            const entry = standings.get(wallet)
            return entry === undefined ? cell(unranked, null) : scoreCell(entry)
          }),
      fixedColumn('Skills', ({ skills }) => join(skills.map(untrustedText), ', ')),
      dayColumn('Registered', (worker) => worker.registered_at),
    ],
    empty: 'No workers yet.',
  })
}

export function scoreCell({ rank, receipts_count: receipts, rep_score: score }: LeaderboardEntry) {
  const about = sub(`rank ${rank}, ${counted(receipts, 'receipt')}`)
  return cell(inline`${amount(score)} ${about}`, score)
}

/** Sorted by name; nameless workers last. */
export function workerCell(
  worker: { readonly wallet: string; readonly looks_like_another?: true | undefined },
  name: string | null,
) {
  const shown = namedWallet(worker.wallet, { ...worker, name }, workerPath(worker.wallet))
  return cell(shown, name?.toLowerCase() ?? null)
}

export interface WorkerPageOptions {
  readonly worker: Worker | undefined
  readonly standing: LeaderboardEntry | undefined
  /** The newest receipts. */
  readonly receipts: readonly Receipt[]
  /** Number of all receipts. */
  readonly total: string
  readonly names: Names
  readonly statements: Parameters<typeof statementSection>[1]
}

const claimTexts = {
  none: 'not claimed',
  key: 'claimed with the key of the wallet',
  email: 'claimed by e-mail, which proves nothing about the wallet',
} as const

export function workerPage(wallet: string, options: WorkerPageOptions): SitePage {
  const { worker, standing, receipts, total, names, statements } = options
  const distinct = oncePerJob(receipts)
  const income = incomeOf(distinct)
  const chart = incomeChart(distinct, income)
  const name = standing?.display_name ?? worker?.display_name ?? null
  const short = `${wallet.slice(0, 10)}…${wallet.slice(-6)}`
  const isLookAlike = (standing ?? worker)?.looks_like_another === true
  return {
    path: workerPath(wallet),
    title: name ?? `Worker ${short}`,
    description: `The worker with the wallet ${wallet}: skills, rank and receipts.`,
    ...entryOf('/workers', 'Workers', short),
    body: [
      firstLine([
        standing === undefined ? 'not on the leaderboard' : inline`rank ${strong(standing.rank)}`,
        standing === undefined
          ? null
          : inline`${link('/docs/glossary#spot', 'spot')} ${claimTexts[standing.claim ?? 'none']}`,
        isLookAlike ? small('the name looks like the earlier name of another wallet') : null,
        worker === undefined ? 'not registered' : inline`registered ${day(worker.registered_at)}`,
      ]),
      verdict(verdictOf(options, distinct.length, income)),
      workerGlance(wallet, options, income),
      worker?.bio === undefined ? null : para(untrustedText(worker.bio)),
      chart && section('income', 'Income by evidence', chart),
      statementSection(wallet, statements),
      section(
        'receipts',
        'Receipts',
        receiptTable(
          'receipts-table',
          `Newest first, ${receipts.length} of ${total}.`,
          receipts,
          names,
          'worker',
        ),
      ),
      section(
        'wallet',
        'Wallet',
        facts([
          ['Wallet', code(wallet)],
          fact('Address', worker?.url, address),
          fact('ERC-8004 agent', worker?.erc8004, agentText),
          fact('Key that signs receipts', worker?.receipt_key, code),
        ]),
      ),
      links([
        ['/leaderboard', 'Leaderboard'],
        ['/workers', 'All workers'],
        ['/docs/reputation', 'How scores are calculated'],
      ]),
    ],
  }
}

const agentStates = {
  confirmed: 'confirmed: the registry names this wallet',
  other_wallet: 'not confirmed: the registry names another wallet',
  no_wallet: 'not confirmed: the registry names no wallet',
  not_checked: 'not checked',
} as const

function agentText({ id, state, checked_at: at }: NonNullable<Worker['erc8004']>): Inline {
  return inline`${code(id)} ${sub(inline`${agentStates[state]}${at === undefined ? '' : inline`, read ${time(at)}`}`)}`
}

function verdictOf(
  { receipts, total }: WorkerPageOptions,
  distinct: number,
  income: Income,
): Inline {
  if (receipts.length === 0) return 'Registered, and no receipt yet.'
  const { contradicted, customers, total: sum } = income
  const isEachNamed = customers.size > 0 && sum - income.ofCustomers < 0.005
  const from = !isEachNamed ? '' : ` from ${counted(customers.size, 'customer')}`
  const stated = `${counted(distinct - contradicted, 'receipt')} over ${shortAmount(sum)} USDC${from}.`
  const proven = income.onChain === 0 ? 'None' : wholePercent(income.onChain / sum)
  const isPart = total !== String(receipts.length)
  const part = isPart ? `Among the newest ${receipts.length} of ${total} receipts: ` : ''
  const were = contradicted === 1 ? 'was' : 'were'
  const refuted = contradicted === 0 ? '' : ` ${contradicted} more ${were} reversed or rejected.`
  const repeated = receipts.length - distinct
  const names = repeated === 1 ? 'names' : 'name'
  const again = repeated === 0 ? '' : ` ${repeated} more ${names} a job that is counted already.`
  return `${part}${stated}${sum === 0 ? '' : ` ${proven} of it is proven on chain.`}${refuted}${again}`
}

function workerGlance(
  wallet: string,
  { worker, standing, receipts, total }: WorkerPageOptions,
  income: Income,
): HtmlAndMarkdown {
  const isPart = total !== String(receipts.length)
  const lastPaid = receipts
    .filter((receipt) => evidenceOf(receipt) === 'on chain')
    .map(({ occurred_at: at }) => at)
    .toSorted()
    .at(-1)
  return glance(
    [
      [
        isPart ? `On chain, newest ${receipts.length}` : 'Proven on chain',
        strong(`${shortAmount(income.onChain)} USDC`),
      ],
      fact('Score', standing, ({ rep_score: score }) => inline`${amount(score)} points`),
      income.ofCustomers === 0
        ? null
        : [
            'Largest customer',
            `${wholePercent(Math.max(...income.customers.values()) / income.ofCustomers)} of ${shortAmount(income.ofCustomers)} USDC whose payer the chain, a platform or the poster of a job names`,
          ],
      ['Last proven payment', lastPaid === undefined ? 'none' : time(lastPaid)],
      fact('Skills', worker?.skills, (skills) => join(skills.map(untrustedText), ', ')),
    ],
    [
      ['#receipts', 'Receipts'],
      [`/api/v1/receipts?wallet=${wallet}`, 'All receipts, JSON', 'quiet'],
    ],
  )
}
