/** `/leaderboard` and `/workers`. */
import { counted } from '../../src/core/number-text.ts'
import { reputationFormula } from '../../src/core/reputation/formula.ts'
import { folded, links, para, verdict, verifyBox } from '../../src/pages/blocks.ts'
import { day, shortAmount } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { cell, column, figureColumn, table } from '../../src/pages/table.ts'
import { scoreCell, workerCell, workerTable } from '../../src/pages/worker.ts'
import { firstPage } from '../world/lists.ts'
import { pageSource } from './page-source.ts'

export const leaderboardPage = pageSource(['community'], ({ community }) => {
  const { leaderboard } = community
  const receipts = leaderboard.reduce((total, entry) => total + entry.receipts_count, 0)
  const sum = leaderboard.reduce((total, entry) => total + entry.total_usdc_lifetime, 0)
  return {
    path: '/leaderboard',
    title: 'Leaderboard by verified reputation',
    description:
      'Wallets ranked by verified receipts. The formula is public and anyone can recompute a score.',
    nav: '/leaderboard',
    json: ['/api/v1/leaderboard'],
    body: [
      verdict(
        `${leaderboard.length < firstPage ? counted(leaderboard.length, 'wallet') : `The first ${firstPage} wallets`} with ${counted(receipts, 'verified receipt')} of ${shortAmount(sum)} USDC. A score weighs receipts by their evidence, their age and the independence of the payer. It does not say how good the work was.`,
      ),
      table(leaderboard, {
        id: 'leaderboard',
        caption: inline`Verified: proven on chain, or attested by a registered platform, whose word it is. What only a worker claims counts for nothing. ${link('/docs/reputation', 'The rules, with an example')}`,
        columns: [
          column('Worker', (entry) => workerCell(entry, entry.display_name)),
          figureColumn('Score', 'points', scoreCell),
          figureColumn('Sum of receipts', 'USDC, all time', ({ total_usdc_lifetime: total }) =>
            cell(shortAmount(total), total),
          ),
          column('Last receipt', ({ last_receipt_at: at }) =>
            at === null ? cell('none', null) : cell(day(at), at),
          ),
        ],
        empty: 'No receipt has been verified yet, so no wallet is ranked.',
      }),
      folded('How scores are calculated', para(reputationFormula)),
      verifyBox('/api/v1/leaderboard'),
      links([
        ['/workers', 'All workers'],
        ['/receipts', 'Receipts'],
      ]),
    ],
  }
})

export const workersPage = pageSource(['community'], ({ community }) => {
  const { leaderboard, workers, workersTotal, workersNext } = community
  const isWhole = leaderboard.length < firstPage
  const ranked = `${counted(leaderboard.length, 'wallet')}${isWhole ? '' : ' or more'}`
  const [latest] = workers
  const caption = `The newest ${workers.length} of ${workersTotal}.`
  return {
    path: '/workers',
    title: 'Workers',
    description: 'Registered workers, each with a wallet and skills.',
    nav: '/workers',
    json: ['/api/v1/workers'],
    body: [
      verdict(
        inline`${counted(workersTotal, 'wallet')} registered to offer skills${latest === undefined ? null : inline`, the last on ${day(latest.registered_at)}`}. ${link('/leaderboard', ranked)}, registered or not, ${leaderboard.length === 1 ? 'has' : 'have'} verified receipts. Registration is free and proves the key of a wallet, not its skills.`,
      ),
      searchForm('workers'),
      workerTable(
        caption,
        workers,
        leaderboard,
        isWhole ? 'not ranked' : `not among the first ${firstPage}`,
      ),
      olderLink('workers', workersNext),
      links([
        ['/api/v1/workers', 'JSON'],
        ['/leaderboard', 'Leaderboard'],
        ['/docs/signing', 'How to register'],
      ]),
    ],
  }
})
