/** `/leaderboard` and `/workers`. */
import { counted } from '../../src/core/number-text.ts'
import { reputationFormula } from '../../src/core/reputation/formula.ts'
import { folded, introduction, links, para, section, verifyBox } from '../../src/pages/blocks.ts'
import { day, shortAmount } from '../../src/pages/figures.ts'
import { link } from '../../src/pages/html-and-markdown.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import {
  amountColumn,
  cell,
  column,
  countColumn,
  figureColumn,
  table,
} from '../../src/pages/table.ts'
import { workerCell, workerTable } from '../../src/pages/worker.ts'
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
      introduction(
        'A score counts receipts that are proven on chain or attested by a registered platform. It weighs how independent the payer is of the worker, and falls with age. What only a worker claims counts for nothing.',
      ),
      table(leaderboard, {
        id: 'leaderboard',
        caption:
          'Ties are broken by the earlier first receipt. The sum is what the counted receipts state; an attested payment is the word of its platform.',
        columns: [
          column('Worker', (entry) => workerCell(entry, entry.display_name)),
          figureColumn('Rank', null, ({ rank }) => cell(rank, rank)),
          amountColumn('Score', null, (entry) => entry.rep_score),
          countColumn('Receipts', null, (entry) => entry.receipts_count),
          figureColumn('Sum of receipts', 'USDC, all time', ({ total_usdc_lifetime: sum }) =>
            cell(shortAmount(sum), sum),
          ),
          column('Last accepted', ({ last_receipt_at: at }) =>
            at === null ? cell('none', null) : cell(day(at), at),
          ),
        ],
        empty: 'No receipt has been verified yet, so no wallet is ranked.',
      }),
      section(
        'formula',
        'How scores are calculated',
        para(link('/docs/reputation', 'The rules in words, with an example')),
        folded('The formula', para(reputationFormula)),
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
    nav: '/workers',
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
