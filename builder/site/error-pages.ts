/** The 404 and 503 pages, sent by the service and by web servers in front of it. */
import { notFoundPage, troublePage } from '../../src/core/site-pages.ts'
import { introduction, links, list } from '../../src/pages/blocks.ts'
import { link, inline } from '../../src/pages/html-and-markdown.ts'
import { pageSource } from './page-source.ts'

const unlisted = { nav: null, listed: false, robots: 'noindex' } as const

export const missingPage = pageSource([], () => ({
  path: notFoundPage,
  title: 'There is nothing at this address',
  description: 'This ledger has no page at this address.',
  ...unlisted,
  body: [
    introduction(
      'The address may be mistyped, or refer to a rail, wallet or receipt that is not in the ledger.',
    ),
    list([
      inline`All rails are on the ${link('/', 'home page')}.`,
      inline`You can search ${link('/receipts', 'receipts')}, ${link('/workers', 'workers')}, ${link('/jobs', 'jobs')}.`,
      inline`For programs, everything is listed in ${link('/llms.txt', 'llms.txt')} and ${link('/openapi.json', 'OpenAPI')}.`,
    ]),
    links([['/docs/contact', 'Report a dead link']]),
  ],
}))

export const unavailablePage = pageSource([], () => ({
  path: troublePage,
  title: 'The ledger cannot respond right now',
  description: 'The service is temporarily unavailable, or an error occurred.',
  ...unlisted,
  body: [
    introduction(
      'The service is temporarily unavailable, or an error occurred on our side. No accepted data is lost.',
    ),
    list([
      'Published pages and figures remain available in the meantime; only pages that need the service are affected.',
      inline`Please try again in a minute. The ${link('/status', 'poll status')} is a published page.`,
    ]),
  ],
}))
