/** `/receipts`. */
import { counted } from '../../src/core/number-text.ts'
import { links, verdict } from '../../src/pages/blocks.ts'
import { evidenceLegend, evidenceOf } from '../../src/pages/evidence.ts'
import { shortAmount } from '../../src/pages/figures.ts'
import { incomeOf } from '../../src/pages/income.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { receiptTable } from '../../src/pages/receipt.ts'
import { pageSource } from './page-source.ts'

export const receiptsPage = pageSource(['community', 'rails'], ({ community, rails }) => {
  const { receipts, receiptsTotal, receiptsVerified, receiptsNext } = community
  const names = {
    rails: new Map(rails.map(({ authored }) => [authored.rail, authored])),
    wallets: community.names,
  }
  const proven = receipts.filter((receipt) => evidenceOf(receipt) === 'on chain').length
  return {
    path: '/receipts',
    title: 'Receipts',
    description:
      'Signed receipts for payments on rails, proven on chain, attested by a platform or only claimed.',
    nav: '/receipts',
    json: ['/api/v1/receipts'],
    feeds: [atomFeed('/feeds/receipts.atom', 'Receipts')],
    body: [
      verdict(
        receiptsTotal === 0
          ? 'No receipt yet. A receipt is a signed statement of who earned how much from whom.'
          : `${counted(receiptsTotal, 'signed receipt')} of who earned how much from whom; ${receiptsVerified} are verified: on chain, or attested by a platform. Of the newest ${receipts.length}, ${proven} ${proven === 1 ? 'is' : 'are'} on chain, where anyone can find the transfer: ${shortAmount(incomeOf(receipts).onChain)} USDC in all.`,
      ),
      evidenceLegend,
      searchForm('receipts'),
      receiptTable(
        'receipts',
        `The newest ${receipts.length} of ${receiptsTotal}.`,
        receipts,
        names,
      ),
      olderLink('receipts', receiptsNext),
      links([
        ['/api/v1/receipts', 'JSON'],
        ['/feeds/receipts.atom', 'Feed of receipts'],
        ['/docs/signing', 'How to submit a receipt'],
        ['/docs/receipts', 'How receipts are verified'],
        ['/leaderboard', 'What receipts earn'],
      ]),
    ],
  }
})
