/** Pages written in Markdown under `data/docs`, with values and blocks filled in from the contract and the world. */
import { counted } from '../../../src/core/number-text.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'
import type { SitePage } from '../../../src/pages/page.ts'
import { memoizeLatest, sameItems } from '../../cache/memoize.ts'
import type { PublicDocument } from '../../publish/document.ts'
import type { DocsSource } from '../../world/docs.ts'
import { memoizeByParts } from '../../world/memoize-by-parts.ts'
import type { World } from '../../world/world.ts'
import { pageSource } from '../page-source.ts'
import { renderMarkdown } from '../prose.ts'
import { liveBlocks } from './live-blocks.ts'
import type { BlockWorld } from './live-blocks.ts'
import { headingsOf, withNavigation } from './navigation.ts'
import { endpoint, findAnswer, groupSections, referenceGroups, referencePath } from './reference.ts'
import { docsValues } from './values.ts'

export const docsPages = pageSource(
  ['docs', 'exported', 'signingKeys', 'site', 'taxonomy', 'tiers'],
  (world) => {
    const values = docsValues(world)
    return world.docs.map((source) => docsPage(source, world, values))
  },
)

function docsPage(
  source: DocsSource,
  world: BlockWorld & Pick<World, 'docs'>,
  values: Readonly<Record<string, string>>,
): SitePage {
  const { path, nav, title, scripts, alternate } = source
  const fill = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (_all, name: string) => {
      const value = values[name]
      if (value === undefined) throw new Error(`the page ${path} uses the unknown value ${name}`)
      return value
    })
  const body = fill(source.body).trim()
  const names = [...body.matchAll(blockMarkers)].map(([, name = '']) => name)
  const blocks = new Map(
    names.map((name) => {
      const block = liveBlocks[name]
      if (block === undefined) throw new Error(`the page ${path} uses the unknown block ${name}`)
      return [name, block(world)] as const
    }),
  )
  const markdown = body
    .replace(blockMarkers, (_marker, name: string) => blocks.get(name)?.md ?? '')
    .replace(/^(#+ .*?) \{#[\w-]+\}$/gm, '$1')
  const content = html`${renderMarkdown(body, world.site.url, blocks)}`
  return {
    path,
    title,
    description: fill(source.description),
    nav,
    ...(alternate && { json: alternate }),
    ...(scripts && { scripts }),
    body: [{ html: withNavigation(content, source, headingsOf(body), world.docs), md: markdown }],
  }
}

/** One page for each group of endpoints. An endpoint is described again only if the document that it shows has changed. */
export function createReferencePages() {
  const pages = referenceGroups.map((group) => {
    const endpointsOf = group.routes.map((route) =>
      memoizeLatest((answer: PublicDocument | undefined) =>
        memoizeByParts(['site'], (world) => endpoint(route, world, answer)),
      ),
    )
    const pageOf = memoizeLatest((endpoints: readonly HtmlAndMarkdown[]) =>
      memoizeByParts(['docs'], (world) => groupPage(group, world, endpoints)),
    )
    let last: readonly HtmlAndMarkdown[] = []
    return (world: World, documents: readonly PublicDocument[]) => {
      const answers = group.routes.map((route) => findAnswer(route, documents))
      last = sameItems(
        last,
        endpointsOf.map((endpointOf, at) => endpointOf(answers[at])(world)),
      )
      return pageOf(last)(world)
    }
  })
  return (world: World, documents: readonly PublicDocument[]) =>
    pages.map((page) => page(world, documents))
}

function groupPage(
  group: (typeof referenceGroups)[number],
  world: Pick<World, 'docs'>,
  endpoints: readonly HtmlAndMarkdown[],
): SitePage {
  const content = groupSections(group, endpoints)
  return {
    path: group.path,
    title: `${group.title} API`,
    description: `${group.about} ${counted(group.routes.length, 'endpoint')} with parameters, samples and answers.`,
    crumb: [
      ['/docs', 'Docs'],
      [referencePath, 'API reference'],
    ],
    nav: '/docs',
    json: ['/openapi.json', 'OpenAPI 3.0.3'],
    body: [{ html: withNavigation(content.html, group, [], world.docs), md: content.md }],
  }
}

const blockMarkers = /^<!-- block: ([a-z-]+) -->$/gm
