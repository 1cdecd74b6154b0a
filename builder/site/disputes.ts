/** `/disputes`. */
import { counted } from '../../src/core/number-text.ts'
import { links, verdict, verifyBox } from '../../src/pages/blocks.ts'
import { disputeList } from '../../src/pages/dispute.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { firstPage } from '../world/lists.ts'
import { pageSource } from './page-source.ts'

export const disputesPage = pageSource(['disputes'], ({ disputes: { newest, total } }) => {
  const shown = newest.slice(0, firstPage)
  return {
    path: '/disputes',
    title: 'Disputes',
    description: `${counted(total, 'claim')} that published data is wrong, with the answers of the operator.`,
    nav: '/disputes',
    json: ['/api/v1/disputes'],
    feeds: [atomFeed('/feeds/disputes.atom', 'Disputes')],
    body: [
      verdict(
        `${counted(total, 'dispute')}. Anyone with a key can dispute a figure, a flag or a receipt. A claim is a statement of the disputer, not a measurement.`,
      ),
      disputeList(
        `${shown.length} of ${total}, those of subjects and upheld ones first. All of a rail, flag or receipt: /api/v1/disputes?rail={rail} or ?target={id}`,
        shown,
      ),
      verifyBox('/api/v1/disputes'),
      links([
        ['/feeds/disputes.atom', 'Feed of disputes'],
        ['/honesty', 'Honesty flags'],
        ['/docs/disputing', 'How to dispute'],
      ]),
    ],
  }
})
