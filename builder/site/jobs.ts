/** `/jobs`. */
import { counted } from '../../src/core/number-text.ts'
import { actions, links, verdict, verifyBox } from '../../src/pages/blocks.ts'
import { usdc } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import { jobTable } from '../../src/pages/job.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { pageSource } from './page-source.ts'

export const jobsPage = pageSource(['exchange'], ({ exchange }) => {
  const { jobs, total, open, next } = exchange
  const budgets = jobs.filter(({ status }) => status === 'open').map((job) => job.budget_usdc)
  return {
    path: '/jobs',
    title: 'Job exchange',
    description: 'Partners post jobs, bid on them and deliver a signed hash of the work.',
    nav: '/jobs',
    json: ['/api/v1/jobs'],
    feeds: [atomFeed('/feeds/jobs.atom', 'Jobs')],
    body: [
      verdict(
        inline`${open} of ${counted(total, 'job')} ${open === 1 ? 'is' : 'are'} open for bids${budgets.length === 0 ? null : inline`; the largest budget of the newest is ${usdc(Math.max(...budgets))}`}. The poster chooses a bid and accepts the delivery; then the exchange issues a receipt, but moves no money. ${link('/partners', 'Partners')} may post and bid, for free.`,
      ),
      actions([
        ['/docs/hiring#work', 'Bid on a job'],
        ['/docs/hiring#hire', 'Post a job', 'quiet'],
      ]),
      searchForm('jobs'),
      jobTable(`The newest ${jobs.length} of ${total}.`, jobs),
      olderLink('jobs', next),
      verifyBox('/api/v1/jobs'),
      links([
        ['/feeds/jobs.atom', 'Feed of jobs'],
        ['/docs/reference/jobs', 'How to post and bid'],
        ['/skills', 'Skills'],
      ]),
    ],
  }
})
