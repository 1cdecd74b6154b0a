/** `/receipts`. */
import { counted } from '../../src/core/number-text.ts'
import { introduction, links } from '../../src/pages/blocks.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { receiptTable } from '../../src/pages/receipt.ts'
import { pageSource } from './page-source.ts'

export const receiptsPage = pageSource(['community'], ({ community }) => {
  const { receipts, receiptsTotal, receiptsVerified, receiptsNext } = community
  return {
    path: '/receipts',
    title: 'Receipts',
    description: `${counted(receiptsTotal, 'receipt')} for payments on rails; ${receiptsVerified} of them verified.`,
    nav: '/receipts',
    json: ['/api/v1/receipts'],
    feeds: [atomFeed('/feeds/receipts.atom', 'Receipts')],
    body: [
      introduction(
        'A receipt states who was paid, by whom, how much and where, and is signed by a platform or by the worker. On-chain payments are verified on-chain; the label shows the result.',
      ),
      searchForm('receipts'),
      receiptTable('receipts', `The newest ${receipts.length} of ${receiptsTotal}.`, receipts),
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
