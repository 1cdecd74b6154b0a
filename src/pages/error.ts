/** Pages for readers whose browser received an error. Programs receive the same error as JSON. */
import { introduction, glance, links, list, para, section } from './blocks.ts'
import { usdc } from './figures.ts'
import { code, inline, link, untrustedText } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'

const unlisted = { nav: null, listed: false, robots: 'noindex' } as const

/** `near`: names that resemble the end of the address. */
export function missingPage(path: string, near: readonly string[]): SitePage {
  return {
    path,
    title: 'There is nothing at this address',
    description: 'This ledger has no page at this address.',
    crumb: [[null, '404']],
    ...unlisted,
    body: [
      introduction(
        'The address may be mistyped, or refer to a rail, wallet or receipt that is not in the ledger.',
      ),
      near.length === 0
        ? null
        : section('near', 'Did you mean', list(near.map((rail) => link(`/rails/${rail}`, rail)))),
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
  /** The message of its code. */
  readonly error: string
  readonly code: string
  readonly details: string | undefined
  readonly offer: { readonly amountUsdc: number; readonly payTo: string } | null
}

/** A read that is sold, or that a partner may not read. */
export function refusedPage({
  status,
  path,
  error,
  code: name,
  details,
  offer,
}: ShownError): SitePage {
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
        'instead',
        offer === null ? 'What to do instead' : 'Without paying',
        list(
          [
            inline`${link('/opportunities', 'Rails that pay')}, with ranges and doubts.`,
            inline`${link('/partners', 'Partners')} read it as part of their tier: they sign each request.`,
            offer === null ? null : inline`${link('/docs/paying', 'How a program pays')}.`,
          ].filter((entry) => entry !== null),
        ),
      ),
      para(
        inline`The answer for programs has the code ${link(`/docs/errors#${name}`, code(name))}${details === undefined || offer === null ? '' : inline`: ${untrustedText(details)}`}.`,
      ),
    ],
  }
}
