/** `/docs/reference`: every endpoint, from the registry that the service is made of. */
import type { Parameter, Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { models } from '../../../src/contract/schemas/common.ts'
import { counted } from '../../../src/core/number-text.ts'
import type { World } from '../../world/world.ts'
import { contents, facts, heading, links, list, para, section, stacked } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { contractText } from './text.ts'

const access: Readonly<Record<Route['access'], string>> = {
  public: 'no credentials',
  signed: 'a wallet signs the body',
  partner: 'partner credentials, or payment where it is sold per request',
}

export function referencePage({ site }: World): SitePage {
  const tags = [...new Set(routes.map((route) => route.tag))]
  return {
    path: '/docs/reference',
    title: 'API reference',
    description: `${counted(routes.length, 'endpoint')} of version ${site.version}, made from the registry that the service itself runs on.`,
    nav: '/docs',
    alternates: [{ type: 'application/json', href: '/openapi.json', title: 'OpenAPI 3.0.3' }],
    body: [
      para(
        inline`Paths are relative to ${code(site.url)}. Answers are JSON unless stated otherwise. Any endpoint can answer the ${link('/docs/errors', 'errors')} 400, 405, 429, 500 and 503.`,
        'lede',
      ),
      links([
        ['/openapi.json', 'OpenAPI 3.0.3, for Postman, Bruno and generators'],
        ['/openapi.d.ts', 'TypeScript types'],
        ['/docs/models', 'Fields of every model'],
        ['/docs/try', 'Try it in the browser'],
      ]),
      contents(tags.map((tag) => [`#${tagId(tag)}`, tag])),
      ...tags.map((tag) =>
        section(
          tagId(tag),
          tag,
          ...routes.filter((route) => route.tag === tag).map((route) => endpoint(route)),
        ),
      ),
    ],
  }
}

function tagId(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`
}

function endpoint(route: Route): HtmlAndMarkdown {
  return stacked([
    heading(3, inline`${code(`${route.method} ${route.path}`)}`, route.id),
    para(inline`${contractText(route.summary)}. ${contractText(route.description)}`),
    facts([
      ['Access', access[route.access]],
      ...parameters('Path', route.params),
      ...parameters('Query', route.query),
      route.body === undefined ? null : ['Body', modelName(route.body)],
      ...Object.entries(route.answers).map(
        ([status, answer]) =>
          [
            `Answer ${status}`,
            inline`${contractText(answer.description)} ${answer.schema === undefined ? null : modelName(answer.schema)}${answer.contentType === undefined ? null : code(answer.contentType)}`,
          ] as const,
      ),
      ['Caching', caching(route)],
    ]),
  ])
}

function parameters(
  place: string,
  named: Readonly<Record<string, Parameter>> | undefined,
): readonly (readonly [string, Inline])[] {
  const entries = Object.entries(named ?? {})
  if (entries.length === 0) return []
  const lines = entries.map(
    ([name, { description, example }]) =>
      inline`${code(name)}: ${contractText(description)}${example === undefined ? null : inline` Example: ${code(example)}`}`,
  )
  return [[place, list(lines)]]
}

function modelName(schema: NonNullable<Route['body']>): HtmlAndMarkdown | null {
  const known = models.get(schema)
  return known === undefined ? null : link(`/docs/models#${known.id}`, known.id)
}

function caching({ serving }: Route): string {
  return serving.kind === 'document'
    ? `signed document, ${serving.maxAgeSeconds} s`
    : `not cached (${serving.cache})`
}
