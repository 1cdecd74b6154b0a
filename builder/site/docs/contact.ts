/** `/docs/contact`: where faults are told. */
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { list, para } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'

export function contactPage(): SitePage {
  const takesFeedback = routes.some((route: Route) => route.path === '/api/v1/feedback')
  return {
    path: '/docs/contact',
    title: 'Report a figure, a fault or a weakness',
    description: 'How to tell the operator of this ledger that something is wrong.',
    nav: '/docs',
    body: [
      para(
        'Reports are welcome, and most welcome with a way to see the fault for oneself: an address, a time, the bytes that were received.',
        'lede',
      ),
      takesFeedback
        ? para(
            inline`Send them with ${link('/docs/reference', code('POST /api/v1/feedback'))}: a message of up to 4,000 characters, the page, and how to reach you. Five an hour.`,
          )
        : para('This version takes reports through the operator of the site that you read it on.'),
      list([
        'Weaknesses of security: please give the operator time to mend before you publish.',
        'Wrong figures: name the rail, the figure, and where it can be read otherwise.',
      ]),
    ],
  }
}
