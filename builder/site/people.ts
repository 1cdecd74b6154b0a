/** `/leaderboard` and `/workers`. */
import { counted } from '../../src/core/number-text.ts'
import { reputationFormula } from '../../src/core/reputation/formula.ts'
import { introduction, links, para, section, verifyBox } from '../../src/pages/blocks.ts'
import { hash } from '../../src/pages/figures.ts'
import { link } from '../../src/pages/html-and-markdown.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { workerPath } from '../../src/pages/paths.ts'
import {
  amountColumn,
  cell,
  column,
  countColumn,
  figureColumn,
  table,
  timeColumn,
} from '../../src/pages/table.ts'
import { nameCell, workerTable } from '../../src/pages/worker.ts'
import { pageSource } from './page-source.ts'

export const leaderboardPage = pageSource(['community'], ({ community }) => {
  const { leaderboard } = community
  return {
    path: '/leaderboard',
    title: 'Leaderboard by verified reputation',
    description: `${counted(leaderboard.length, 'wallet')} ranked by verified receipts. The formula is public and anyone can recompute a score.`,
    nav: '/leaderboard',
    json: ['/api/v1/leaderboard'],
    body: [
      introduction('Only receipts that the ledger has verified count toward a rank.'),
      table(leaderboard, {
        id: 'leaderboard',
        caption: 'Ties are broken by the earlier first receipt.',
        columns: [
          figureColumn('Rank', null, ({ rank }) => cell(rank, rank)),
          column('Name', (entry) => nameCell(entry.display_name, entry, 'unclaimed')),
          column('Wallet', ({ wallet }) => cell(link(workerPath(wallet), hash(wallet)), wallet)),
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
      workerTable(caption, workers),
      olderLink('workers', workersNext),
      links([
        ['/api/v1/workers', 'JSON'],
        ['/leaderboard', 'Leaderboard'],
        ['/docs/signing', 'How to register'],
      ]),
    ],
  }
})
