/** Pages written in Markdown under `data/docs`, with values and blocks filled in from the contract and the world. */
import { html } from '../../../src/pages/html.ts'
import type { SitePage } from '../../../src/pages/page.ts'
import type { DocsSource } from '../../world/docs.ts'
import type { World } from '../../world/world.ts'
import { pageSource } from '../page-source.ts'
import { renderMarkdown } from '../prose.ts'
import { liveBlocks } from './live-blocks.ts'
import { withNavigation } from './navigation.ts'
import { docsValues } from './values.ts'

export const docsPages = pageSource(
  ['docs', 'signingKeys', 'site', 'taxonomy', 'tiers'],
  (world) => {
    const values = docsValues(world)
    return world.docs.map((source) => docsPage(source, world, values))
  },
)

function docsPage(
  source: DocsSource,
  world: Pick<World, 'docs' | 'signingKeys' | 'site' | 'tiers'>,
  values: Readonly<Record<string, string>>,
): SitePage {
  const { path, nav, title, styles, scripts, alternate } = source
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
    ...(styles && { styles }),
    ...(scripts && { scripts }),
    body: [{ html: withNavigation(content, { ...source, body }, world.docs), md: markdown }],
  }
}

const blockMarkers = /^<!-- block: ([a-z-]+) -->$/gm
