/** `/leaderboard`, `/workers`, and pages of workers. */
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { reputationFormula } from '../../src/core/reputation/formula.ts'
import { introduction, links, para, section, verifyBox } from '../../src/pages/blocks.ts'
import { link } from '../../src/pages/html-and-markdown.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { shortWallet } from '../../src/pages/paths.ts'
import {
  amountColumn,
  cell,
  column,
  countColumn,
  figureColumn,
  table,
  timeColumn,
} from '../../src/pages/table.ts'
import { nameCell, workerPage, workerTable } from '../../src/pages/worker.ts'
import type { Community } from '../world/world.ts'
import { pageSource } from './page-source.ts'

/** Wallets with a published page: the newest workers, the leaderboard, and recipients of the newest receipts. */
export function workerWallets(community: Community): ReadonlySet<string> {
  const { workers, leaderboard, receipts } = community
  return new Set([
    ...[...workers, ...leaderboard].map(({ wallet }) => wallet),
    ...receipts.map((receipt) => receipt.to_wallet),
  ])
}

export const leaderboardPage = pageSource(['community'], ({ community }) => {
  const { leaderboard } = community
  const pages = workerWallets(community)
  return {
    path: '/leaderboard',
    title: 'Leaderboard by verified reputation',
    description: `${counted(leaderboard.length, 'wallet')} ranked by verified receipts. The formula is public and anyone can recompute a score.`,
    nav: '/leaderboard',
    json: ['/api/v1/leaderboard'],
    body: [
      introduction('Ranks are earned only with receipts that the ledger could verify.'),
      table(leaderboard, {
        id: 'leaderboard',
        caption: 'Ties are broken by the earlier first receipt.',
        columns: [
          figureColumn('Rank', null, ({ rank }) => cell(rank, rank)),
          column('Name', (entry) => nameCell(entry.display_name, entry, 'unclaimed')),
          column('Wallet', ({ wallet }) => cell(shortWallet(wallet, pages), wallet)),
          amountColumn('Score', null, (entry) => entry.rep_score),
          countColumn('Receipts', null, (entry) => entry.receipts_count),
          amountColumn('Earned', 'USDC, all time', (entry) => entry.total_usdc_lifetime),
          timeColumn('Last receipt', (entry) => entry.last_receipt_at, 'none'),
        ],
        empty: 'No receipt has been verified yet, so no wallet is ranked.',
      }),
      section(
        'formula',
        'How scores are calculated',
        para(reputationFormula),
        para(link('/docs/reputation', 'The complete rules, with an example')),
      ),
      verifyBox('/api/v1/leaderboard'),
      links([
        ['/api/v1/leaderboard', 'JSON'],
        ['/workers', 'All workers'],
        ['/receipts', 'Receipts'],
      ]),
    ],
  }
})

export const workersPage = pageSource(['community'], ({ community }) => {
  const { workers, workersTotal, workersNext } = community
  const caption = `The newest ${workers.length} of ${workersTotal}.`
  return {
    path: '/workers',
    title: 'Workers',
    description: `${counted(workersTotal, 'registered worker')}, each with a wallet and skills.`,
    nav: '/leaderboard',
    json: ['/api/v1/workers'],
    body: [
      introduction(
        'A worker is a wallet that offers skills. Registration is a signed request and is free.',
      ),
      searchForm('workers'),
      workerTable(caption, workers, workerWallets(community)),
      olderLink('workers', workersNext),
      links([
        ['/api/v1/workers', 'JSON'],
        ['/leaderboard', 'Leaderboard'],
        ['/docs/signing', 'How to register'],
      ]),
    ],
  }
})

export const workerPages = pageSource(['community'], function* ({ community }) {
  const workers = new Map(community.workers.map((worker) => [worker.wallet, worker]))
  const standings = new Map(community.leaderboard.map((entry) => [entry.wallet, entry]))
  const receipts = groupBy(community.receipts, (receipt) => receipt.to_wallet)
  for (const wallet of workerWallets(community)) {
    yield workerPage(wallet, {
      worker: workers.get(wallet),
      standing: standings.get(wallet),
      receipts: receipts.get(wallet) ?? [],
      receiptsCaption: 'Only the most recent receipts are shown.',
      allReceipts: `/view/worker?id=${wallet}`,
    })
  }
})
