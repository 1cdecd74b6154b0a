/** How a rail is measured, and how to check it. */
import { pathOf } from '../../src/contract/routes.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { documentFile } from '../../src/core/documents.ts'
import { counted } from '../../src/core/number-text.ts'
import { embedSnippets } from '../../src/pages/badge.ts'
import {
  codeBlock,
  facts,
  folded,
  heading,
  links,
  list,
  para,
  stacked,
  steps,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { hash, notJudged, pill } from '../../src/pages/figures.ts'
import { address, code, inline, join, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { disputeFigure, railPath } from '../../src/pages/paths.ts'
import { column, figureColumn, table } from '../../src/pages/table.ts'
import { fileHistoryUrl } from '../archive/web-address.ts'
import { evidenceUri } from '../documents/rail-view.ts'
import type { World } from '../world/world.ts'

export function method(view: Rail): (HtmlAndMarkdown | null)[] {
  return [
    // Unlike `Intl.Segmenter`, this does not end a sentence at the query of an address.
    steps(view.methodology.split(/(?<=[.!?]\)?)\s+(?=[A-Z])/).map(untrustedText)),
    facts([
      ['Rule', code(view.rule)],
      ['Evidence tier', `${view.evidence_tier}: ${tiers[view.evidence_tier]}`],
      [
        'Last audit of public sources',
        inline`${view.audit.as_of}: ${Object.keys(view.audit.figures).length === 0 ? notJudged : pill(view.audit.status)} ${untrustedText(view.audit.reason)} ${join(view.audit.source.split('; ').map(source), '; ')}`,
      ],
    ]),
    view.differs === undefined
      ? null
      : stacked([
          heading(3, 'Why our figure differs from others', 'differs'),
          para(untrustedText(view.differs)),
        ]),
    heading(3, 'Sources', 'sources'),
    list(view.sources.map(source)),
  ]
}

function source(text: string): Inline {
  const [, href, remark = ''] = /^(https:\/\/\S+)(.*)$/.exec(text) ?? []
  return href === undefined ? untrustedText(text) : inline`${address(href)}${untrustedText(remark)}`
}

const tiers: Readonly<Record<Rail['evidence_tier'], string>> = {
  A: 'contract or endpoint confirmed, payments can be computed',
  B: 'endpoint confirmed, payments not exposed',
  C: 'known only from third parties',
  D: 'no endpoint found',
}

export function checks(
  view: Rail,
  world: Pick<World, 'history' | 'site'>,
): (HtmlAndMarkdown | null)[] {
  const params = { name: view.rail }
  const json = pathOf('getRail', params)
  const { historyUrl } = world.site
  const polls = world.history.get(view.rail) ?? []
  const { evidence_uri: uri } = evidenceUri(polls.find(({ outcome }) => outcome === 'ok'))
  return [
    verifyBox(json),
    view.evidence.length === 0
      ? para('No evidence has been recorded yet.')
      : table(view.evidence, {
          id: 'evidence',
          caption: 'Sources of the last successful poll. A hash covers the response as received.',
          sortable: false,
          columns: [
            column('Source', (pointer) =>
              pointer.kind === 'http'
                ? address(pointer.url ?? '')
                : inline`logs of ${hash(pointer.contract ?? 'unknown')} on ${pointer.chain ?? 'an unknown chain'}`,
            ),
            column('Range', (pointer) =>
              pointer.kind === 'http'
                ? inline`SHA-256 ${hash(pointer.sha256 ?? 'unknown')}`
                : `blocks ${pointer.from_block ?? '?'} to ${pointer.to_block ?? '?'}`,
            ),
            figureColumn('Amount', null, ({ kind, items, logs }) =>
              kind === 'http' ? counted(items ?? 0, 'item') : counted(logs ?? 0, 'log'),
            ),
          ],
        }),
    links([
      [disputeFigure(view), 'Dispute a figure'],
      [json, 'This rail as JSON'],
      uri === undefined ? null : [uri, 'Evidence of these figures'],
      [pathOf('getRailHistory', params), 'Every poll as JSON'],
      [pathOf('getRailHistoryCsv', params), 'Every poll as CSV'],
      historyUrl === null
        ? null
        : [fileHistoryUrl(historyUrl, documentFile(json, 'application/json')), 'Changes in git'],
    ]),
    folded('Badge and card', stacked(embedBlocks(view, world.site.url))),
  ]
}

function embedBlocks(view: Rail, siteUrl: string): HtmlAndMarkdown[] {
  const page = { path: railPath(view.rail), name: view.display_name, hasCard: true }
  return Object.values(embedSnippets(page, siteUrl)).flatMap((snippets) =>
    snippets === null
      ? []
      : [codeBlock(snippets.html, 'html'), codeBlock(snippets.markdown, 'markdown')],
  )
}
