/** The 404 and 503 pages, sent by the service and by web servers in front of it. */
import { notFoundPage, troublePage } from '../../src/core/site-pages.ts'
import { introduction, list } from '../../src/pages/blocks.ts'
import { missingPage as describeMissing } from '../../src/pages/error.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import { pageSource } from './page-source.ts'

export const missingPage = pageSource([], () => describeMissing(notFoundPage, []))

export const unavailablePage = pageSource([], () => ({
  path: troublePage,
  title: 'The ledger cannot respond right now',
  description: 'The service is temporarily unavailable, or an error occurred.',
  crumb: [[null, '503']],
  nav: null,
  listed: false,
  robots: 'noindex',
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
