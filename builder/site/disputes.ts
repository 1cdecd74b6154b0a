/** `/disputes`. */
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { links, verdict, verifyBox } from '../../src/pages/blocks.ts'
import { disputeList } from '../../src/pages/dispute.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { firstPage } from '../world/lists.ts'
import { pageSource } from './page-source.ts'

export const disputesPage = pageSource(['disputes'], ({ disputes: { newest, total } }) => {
  const shown = newest.slice(0, firstPage)
  const states = [...groupBy(shown, ({ state }) => state)]
  const counts = states.map(([state, { length }]) => `${length} ${state}`).join(', ')
  return {
    path: '/disputes',
    title: 'Disputes',
    description: `${counted(total, 'claim')} that published data is wrong, with the answers of the operator.`,
    nav: '/disputes',
    json: ['/api/v1/disputes'],
    feeds: [atomFeed('/feeds/disputes.atom', 'Disputes')],
    body: [
      verdict(
        `${counted(total, 'dispute')}${counts === '' ? '' : total > shown.length ? `; of the newest ${shown.length}, ${counts}` : `: ${counts}`}. Anyone with a key can dispute a figure, a flag or a receipt. A claim is a statement of the disputer, not a measurement.`,
      ),
      disputeList(`The newest ${shown.length} of ${total}.`, shown),
      verifyBox('/api/v1/disputes'),
      links([
        ['/feeds/disputes.atom', 'Feed of disputes'],
        ['/honesty', 'Honesty flags'],
        ['/docs/disputing', 'How to dispute'],
      ]),
    ],
  }
})
