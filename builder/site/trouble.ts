/** What people see where there is nothing, and where the ledger cannot answer. The service and the edge send them. */
import { notFoundPage, troublePage } from '../../src/core/site-pages.ts'
import { links, list, para } from './blocks.ts'
import type { Page } from './page.ts'
import { link, say } from './twin.ts'

export function missingPage(): Page {
  return {
    path: notFoundPage,
    title: 'There is nothing at this address',
    description: 'The address leads to no page of this ledger.',
    nav: null,
    listed: false,
    robots: 'noindex',
    body: [
      para(
        'The address may be mistyped, or name a rail, a wallet or a receipt that the ledger does not hold.',
        'lede',
      ),
      list([
        say`All rails are on ${link('/', 'the first page')}.`,
        say`Receipts, workers and jobs can be searched: ${link('/receipts', 'receipts')}, ${link('/workers', 'workers')}, ${link('/jobs', 'jobs')}.`,
        say`Programs find everything in ${link('/llms.txt', 'llms.txt')} and ${link('/openapi.json', 'OpenAPI')}.`,
      ]),
      links([['/docs/contact', 'Report a dead link']]),
    ],
  }
}

export function unavailablePage(): Page {
  return {
    path: troublePage,
    title: 'The ledger cannot answer this right now',
    description: 'The service is away for a moment, or something broke.',
    nav: null,
    listed: false,
    robots: 'noindex',
    body: [
      para(
        'The service is away for a moment, or something broke on its side. Nothing that was accepted is lost.',
        'lede',
      ),
      list([
        'Pages and figures that are published stay readable meanwhile; this one has to be asked of the service.',
        say`Please try again in a minute. ${link('/status', 'How the polls went')} is a published page.`,
      ]),
    ],
  }
}
