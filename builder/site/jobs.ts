/** `/jobs`. */
import { counted } from '../../src/core/number-text.ts'
import { introduction, links, verifyBox } from '../../src/pages/blocks.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import { jobTable } from '../../src/pages/job.ts'
import { olderLink, searchForm } from '../../src/pages/lists.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { pageSource } from './page-source.ts'

export const jobsPage = pageSource(['exchange'], ({ exchange }) => {
  const { jobs, total, open, next } = exchange
  return {
    path: '/jobs',
    title: 'Job exchange',
    description: `${counted(open, 'open job')} of ${total}. Partners post jobs, bid on them and deliver a signed hash of the work.`,
    nav: '/jobs',
    json: ['/api/v1/jobs'],
    feeds: [atomFeed('/feeds/jobs.atom', 'Jobs')],
    body: [
      introduction(
        inline`Partners post jobs with a budget and a deadline; the winning bidder delivers, and when the poster accepts the delivery, the exchange issues a receipt. ${link('/partners', 'Becoming a partner')} is free.`,
      ),
      searchForm('jobs'),
      jobTable(`The newest ${jobs.length} of ${total}.`, jobs),
      olderLink('jobs', next),
      verifyBox('/api/v1/jobs'),
      links([
        ['/api/v1/jobs', 'JSON'],
        ['/feeds/jobs.atom', 'Feed of jobs'],
        ['/docs/reference/jobs', 'How to post and bid'],
        ['/skills', 'Skills'],
      ]),
    ],
  }
})
