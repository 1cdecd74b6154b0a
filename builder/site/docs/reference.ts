/** Every endpoint, from the route registry that the service runs on. */
import type { Parameter, Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { models } from '../../../src/contract/schemas/common.ts'
import {
  contents,
  facts,
  heading,
  list,
  para,
  section,
  stacked,
} from '../../../src/pages/blocks.ts'
import { code, inline, link, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../../src/pages/html-and-markdown.ts'

const access: Readonly<Record<Route['access'], string>> = {
  public: 'no credentials',
  signed: 'a wallet signs the body',
  partner: 'partner credentials, or payment if the read is sold per request',
}

export function endpointSections(): HtmlAndMarkdown {
  const tags = [...new Set(routes.map((route) => route.tag))]
  return stacked([
    contents(tags.map((tag) => [`#${tagId(tag)}`, tag])),
    ...tags.map((tag) =>
      section(
        tagId(tag),
        tag,
        ...routes.filter((route) => route.tag === tag).map((route) => endpoint(route)),
      ),
    ),
  ])
}

function tagId(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`
}

function endpoint(route: Route): HtmlAndMarkdown {
  return stacked([
    heading(3, code(`${route.method} ${route.path}`), route.id),
    para(inline`${textWithCode(route.summary)}. ${textWithCode(route.description)}`),
    facts([
      ['Access', access[route.access]],
      parameters('Path', route.params),
      parameters('Query', route.query),
      route.body === undefined ? null : ['Body', modelLink(route.body)],
      ...Object.entries(route.answers).map(
        ([status, { description, schema, contentType }]) =>
          [
            `Response ${status}`,
            inline`${textWithCode(description)} ${schema === undefined ? null : modelLink(schema)}${contentType === undefined ? null : code(contentType)}`,
          ] as const,
      ),
      ['Caching', caching(route)],
    ]),
  ])
}

function parameters(
  place: string,
  named: Readonly<Record<string, Parameter>> = {},
): readonly [string, Inline] | null {
  const lines = Object.entries(named).map(
    ([name, { description, example }]) =>
      inline`${code(name)}: ${textWithCode(description)}${example === undefined ? null : inline` Example: ${code(example)}`}`,
  )
  return lines.length === 0 ? null : [place, list(lines)]
}

function modelLink(schema: NonNullable<Route['body']>): HtmlAndMarkdown | null {
  const known = models.get(schema)
  return known === undefined ? null : link(`/docs/models#${known.id}`, known.id)
}

function caching({ serving }: Route): string {
  return serving.kind === 'document'
    ? `signed document, ${serving.maxAgeSeconds} s`
    : `not cached (${serving.cache})`
}
