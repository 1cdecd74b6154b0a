/** `/receipts`. */
import { counted } from '../../src/core/number-text.ts'
import { introduction, links } from '../../src/pages/blocks.ts'
import { evidenceLegend } from '../../src/pages/evidence.ts'
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
  return {
    path: '/receipts',
    title: 'Receipts',
    description: `${counted(receiptsTotal, 'receipt')} for payments on rails; ${receiptsVerified} of them proven on chain or attested by a platform.`,
    nav: '/receipts',
    json: ['/api/v1/receipts'],
    feeds: [atomFeed('/feeds/receipts.atom', 'Receipts')],
    body: [
      introduction(
        'A receipt states who earned how much from whom, and is signed by a platform or by the worker. Its mark says what shows that money moved.',
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
