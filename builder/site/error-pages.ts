/** What people see where there is nothing, and where the ledger cannot answer. The service and the edge send them. */
import { notFoundPage, troublePage } from '../../src/core/site-pages.ts'
import { introduction, links, list } from '../../src/pages/blocks.ts'
import { link, inline } from '../../src/pages/html-and-markdown.ts'
import type { SitePage } from '../../src/pages/page.ts'

export function missingPage(): SitePage {
  return {
    path: notFoundPage,
    title: 'There is nothing at this address',
    description: 'The address leads to no page of this ledger.',
    nav: null,
    listed: false,
    robots: 'noindex',
    body: [
      introduction(
        'The address may be mistyped, or name a rail, a wallet or a receipt that the ledger does not hold.',
      ),
      list([
        inline`All rails are on ${link('/', 'the first page')}.`,
        inline`Receipts, workers and jobs can be searched: ${link('/receipts', 'receipts')}, ${link('/workers', 'workers')}, ${link('/jobs', 'jobs')}.`,
        inline`Programs find everything in ${link('/llms.txt', 'llms.txt')} and ${link('/openapi.json', 'OpenAPI')}.`,
      ]),
      links([['/docs/contact', 'Report a dead link']]),
    ],
  }
}

export function unavailablePage(): SitePage {
  return {
    path: troublePage,
    title: 'The ledger cannot answer this right now',
    description: 'The service is away for a moment, or something broke.',
    nav: null,
    listed: false,
    robots: 'noindex',
    body: [
      introduction(
        'The service is away for a moment, or something broke on its side. Nothing that was accepted is lost.',
      ),
      list([
        'Pages and figures that are published stay readable meanwhile; this one has to be asked of the service.',
        inline`Please try again in a minute. ${link('/status', 'How the polls went')} is a published page.`,
      ]),
    ],
  }
}
