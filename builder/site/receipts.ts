/** `/receipts`, and a page and a signed record for each of the newest receipts. */
import { counted } from '../../src/core/number-text.ts'
import { introduction, links } from '../../src/pages/blocks.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { receiptRecordPath } from '../../src/pages/paths.ts'
import { receiptPage, receiptTable } from '../../src/pages/receipt.ts'
import { plainJson, unarchived } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { pageSource } from './page-source.ts'
import { workerWallets } from './people.ts'

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

export const receiptPages = pageSource(
  ['community', 'disputes', 'pacts', 'rails'],
  function* ({ community, disputes, rails, pacts }) {
    const wallets = workerWallets(community)
    const listed = new Set(rails.map(({ authored }) => authored.rail))
    const pactIds = new Map(pacts.settled.map((pact) => [pact.receipt_id, pact.pact_id]))
    for (const receipt of community.receipts) {
      yield receiptPage(receipt, {
        workerWallets: wallets,
        isRailListed: listed.has(receipt.rail),
        pactId: pactIds.get(receipt.receipt_id) ?? null,
        hasRecord: true,
        disputes: disputes.newest.filter(
          ({ target }) => 'receipt_id' in target && target.receipt_id === receipt.receipt_id,
        ),
      })
    }
  },
)

export function receiptRecords({ community }: Pick<World, 'community'>): PublicDocument[] {
  return community.receipts.map((receipt) => {
    const path = receiptRecordPath(receipt.receipt_id)
    return unarchived(path, 'application/json', 60, plainJson(receipt))
  })
}
