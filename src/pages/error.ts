/** Pages for readers whose browser received an error. Programs receive the same error as JSON. */
import { notFoundPage } from '../core/site-pages.ts'
import { codeBlock, glance, htmlOnly, introduction, links, list, para, section } from './blocks.ts'
import { usdc } from './figures.ts'
import { code, inline, link, untrustedText } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { SitePage } from './page.ts'

const unlisted = { nav: null, listed: false, robots: 'noindex' } as const

/** `near`: paths of pages that resemble the address. */
export function missingPage(path: string, near: readonly string[]): SitePage {
  return {
    path,
    title: 'There is nothing at this address',
    description: 'This ledger has no page at this address.',
    crumb: [[null, '404']],
    ...unlisted,
    body: [
      introduction(
        inline`${path === notFoundPage ? 'The address' : code(path)} may be mistyped, or refer to a rail, wallet or receipt that is not in the ledger.`,
      ),
      near.length === 0
        ? null
        : section(
            'near',
            'Did you mean',
            list(near.map((to) => link(to, to.slice(to.lastIndexOf('/') + 1)))),
          ),
      htmlOnly(
        html`<form class="filters" role="search" action="/search">
          <label
            >Words, id or wallet
            <input
              type="search"
              name="q"
              size="36"
              maxlength="100"
              value="${path === notFoundPage ? '' : path.split('/').at(-1)}" /></label
          ><button class="btn">Search</button>
        </form>`,
      ),
      list([
        inline`All rails are on the ${link('/', 'home page')}, and every page is in the ${link('/search', 'search')}.`,
        inline`A receipt is at ${code('/receipts/')} and its id, a worker at ${code('/workers/')} and the wallet.`,
        inline`For programs, everything is listed in ${link('/llms.txt', 'llms.txt')} and ${link('/openapi.json', 'OpenAPI')}.`,
      ]),
      links([['/docs/contact', 'Report a dead link']]),
    ],
  }
}

export interface ShownError {
  readonly status: 402 | 403
  readonly path: string
  readonly siteUrl: string
  /** The message of its code. */
  readonly error: string
  readonly code: string
  readonly details?: string | undefined
  readonly offer: { readonly amountUsdc: number; readonly payTo: string } | null
}

/** A read that is sold, or that a partner may not read. */
export function refusedPage(shown: ShownError): SitePage {
  const { status, path, siteUrl, error, code: name, details, offer } = shown
  return {
    path,
    title: offer === null ? error : `This read costs ${usdc(offer.amountUsdc).md}`,
    description: error,
    crumb: [
      [null, String(status)],
      [null, path],
    ],
    ...unlisted,
    body: [
      introduction(
        offer === null
          ? inline`${untrustedText(details ?? error)}`
          : inline`A program pays for each read, without an account; a browser cannot pay. Rails, flags, receipts and workers are free to read.`,
      ),
      offer === null
        ? null
        : glance(
            [
              ['Price', usdc(offer.amountUsdc)],
              ['On', 'Base, by x402'],
              ['To', code(offer.payTo)],
              ['If we fail', 'nothing is charged'],
            ],
            [['/docs/paying', 'How to pay']],
          ),
      section(
        'ways',
        status === 402 ? 'Three ways to read it' : 'Who may read it',
        list(
          [
            status === 403
              ? null
              : offer === null
                ? 'An agent: not now, since this server takes no payments.'
                : inline`An agent pays for each read over x402: this request answers with the price, and the same request with a payment answers with the data. ${link('/docs/paying', 'How a program pays')}, and what each read contains.`,
            inline`A person: ${link('/opportunities', 'rails that pay')}, with ranges and doubts, are free.`,
            inline`A partner signs each request and reads what its ${link('/partners', 'tier')} includes. ${link('/docs/becoming-a-partner', 'Become a partner')}.`,
          ].filter((entry) => entry !== null),
        ),
        codeBlock(`curl -sS -i '${siteUrl}${path.replaceAll("'", '%27')}'`, 'sh'),
      ),
      para(
        inline`The answer for programs has the code ${link(`/docs/errors#${name}`, code(name))}${details === undefined || offer === null ? '' : inline`: ${untrustedText(details.replace(/\.$/, ''))}`}.`,
      ),
    ],
  }
}
