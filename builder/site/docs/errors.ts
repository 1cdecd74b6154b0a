/** `/docs/errors`: an anchor for every code that the API can answer. */
import { errorCodes } from '../../../src/contract/errors.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { counted } from '../../../src/core/number-text.ts'
import { codeBlock, facts, links, para, section } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'
import { remedies } from './remedies.ts'

const example = `{
  "error": "No such rail",
  "code": "unknown_rail",
  "docs": "https://…/docs/errors#unknown_rail"
}`

export function errorsPage(): SitePage {
  const all = entriesOf(errorCodes)
  return {
    path: '/docs/errors',
    title: 'Errors',
    description: `${counted(all.length, 'error code')}: when each is answered and what to do then.`,
    nav: '/docs',
    body: [
      para(
        'Every error under /api/v1 has the same body. Branch on code: it is stable, and new ones may be added. The words are for people.',
        'lede',
      ),
      codeBlock(example, 'json'),
      facts([
        ['error', 'a short message'],
        ['code', 'stable and machine-readable'],
        ['details', 'more, where there is more to say'],
        ['issues', 'for invalid input: an array of path and message'],
        ['docs', 'the address of the code on this page'],
      ]),
      section(
        'codes',
        'Codes',
        table({
          id: 'error-codes',
          caption: 'By status.',
          columns: [
            { label: 'Code' },
            { label: 'Status', kind: 'figure' },
            { label: 'When', sortable: false, wide: true },
            { label: 'What to do', sortable: false, wide: true },
          ],
          rows: all.map(([name, { status, message }]) => ({
            id: name,
            cells: [
              inline`${link(`#${name}`, code(name))}`,
              String(status),
              message,
              remedies[name] ?? byStatus[status] ?? 'Read details.',
            ],
          })),
          empty: '',
        }),
      ),
      links([
        ['/docs/reference', 'API reference'],
        ['/docs/limits', 'Limits'],
        ['/docs/signing', 'Signing'],
      ]),
    ],
  }
}

const byStatus: Readonly<Record<number, string>> = {
  400: 'Correct the request; repeated as it is, it fails again.',
  401: 'Sign again with a fresh timestamp, over exactly what is sent.',
  402: 'Pay, or subscribe to a tier that covers it.',
  403: 'Use a wallet that may do this.',
  404: 'Look the name up in its list.',
  409: 'Read what stands now, then decide.',
  413: 'Send less.',
  415: 'Send plain application/json.',
  422: 'Read details: a rule of the ledger refused it.',
  429: 'Wait as many seconds as Retry-After says.',
  500: 'Try again later; report it if it stays.',
  503: 'Try again after Retry-After.',
}
