/** Every endpoint, from the route registry that the service runs on and its OpenAPI document. */
import { tags } from '../../../src/contract/openapi.ts'
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { strictJsonOrNull } from '../../../src/core/strict-json.ts'
import {
  codeBlock,
  contents,
  facts,
  folded,
  heading,
  htmlOnly,
  introduction,
  para,
  section,
  stacked,
} from '../../../src/pages/blocks.ts'
import { codeTabs } from '../../../src/pages/code-tabs.ts'
import {
  code,
  inline,
  link,
  renderInline,
  textWithCode,
} from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'
import { entries, list, member, text } from '../../archive/facts.ts'
import { openApiOf } from '../../documents/site.ts'
import { renderBody } from '../../publish/document.ts'
import type { PublicDocument } from '../../publish/document.ts'
import type { World } from '../../world/world.ts'
import { plain, resolve, typeText } from './models.ts'
import { needsBody, requestSamples } from './samples.ts'

export const referencePath = '/docs/reference'

/** The endpoints of one tag, which share a page. */
export const referenceGroups = Object.entries(tags).map(([title, about]) => ({
  title,
  about,
  path: `${referencePath}/${title.toLowerCase()}`,
  group: 'Reference' as const,
  routes: routes.filter(({ tag }) => tag === title),
}))

export function referenceLink({ id, tag }: Pick<Route, 'id' | 'tag'>, label: Inline) {
  return link(`${referencePath}/${tag.toLowerCase()}#${id}`, label)
}

/** The first document of this ledger that answers the endpoint. */
export function findAnswer({ path, serving }: Route, documents: readonly PublicDocument[]) {
  if (serving.kind !== 'document') return undefined
  const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
  const isAnswer = new RegExp(`^${pattern}$`)
  return documents.find((document) => isAnswer.test(document.path))
}

/** The verb, in the colour of reads or writes, and the path. */
export function endpointName({ method, path }: Pick<Route, 'method' | 'path'>): HtmlAndMarkdown {
  const name = code(path)
  return {
    html: html`<span class="verb ${method === 'GET' ? '' : 'write'}">${method}</span> ${name.html}`,
    md: `${method} ${name.md}`,
  }
}

/** All endpoints by group. Each entry has the id of its endpoint, since links from elsewhere lead to it. */
export function endpointIndex(): HtmlAndMarkdown {
  return stacked(
    referenceGroups.map(({ title, about, path, routes: shown }) => {
      const items = shown.map((route) => {
        const { summary } = route
        return {
          id: route.id,
          line: inline`${referenceLink(route, endpointName(route))} ${summary}`,
        }
      })
      return section(
        `tag-${title.toLowerCase()}`,
        title,
        para(inline`${about} ${link(path, 'Parameters, samples and answers')}`),
        {
          html: html`<ul class="endpoints">
            ${items.map(({ id, line }) => html`<li id="${id}">${line.html}</li>`)}
          </ul>`,
          md: items.map(({ line }) => `- ${line.md}`).join('\n'),
        },
      )
    }),
  )
}

export function groupSections(
  { about, routes: shown }: (typeof referenceGroups)[number],
  endpoints: readonly HtmlAndMarkdown[],
): HtmlAndMarkdown {
  return stacked([
    htmlOnly(introduction(about).html),
    contents(shown.map(({ id, summary }) => [`#${id}`, summary])),
    ...endpoints,
  ])
}

const access: Readonly<Record<Route['access'], Inline>> = {
  public: 'no credentials',
  signed: inline`${link('/docs/signing', 'a wallet signs')} the body`,
  partner: inline`${link('/docs/signing#partner', 'partner credentials')}`,
}

export function endpoint(
  route: Route,
  world: Pick<World, 'site'>,
  document: PublicDocument | undefined,
): HtmlAndMarkdown {
  const spec: JsonValue = openApiOf(world)
  const operation = member(member(member(spec, 'paths'), route.path), route.method.toLowerCase())
  const about = stacked([
    para(inline`${textWithCode(route.summary)}. ${textWithCode(route.description)}`),
    facts([
      ['Access', access[route.access]],
      route.price === undefined
        ? null
        : [
            'Price',
            inline`${route.price} USDC without a tier that covers it; ${link('/docs/paying', 'how to pay')}`,
          ],
      ['Caching', caching(route)],
    ]),
    parameters('Path', operation, 'path'),
    parameters('Query', operation, 'query'),
    bodyFields(spec, operation),
    statusCodes(spec, operation),
  ])
  const { path } = document ?? route
  // The first request gets 201 or 202; only its repetition gets 200.
  const good = entries(member(operation, 'responses')).filter(([status]) => status.startsWith('2'))
  const recorded = good.find(([status]) => status !== '200') ?? good[0]
  const samples = stacked([
    codeTabs(`sample-${route.id}`, requestSamples({ ...route, path }, world.site.url)),
    needsBody(route) ? recordedExample('body.json', member(operation, 'requestBody')) : null,
    answerOf(document) ?? recordedExample(recorded?.[0] ?? '', recorded?.[1]),
    route.method === 'GET'
      ? para(link(`/docs/try#${route.id}`, 'Try it: get a real answer'))
      : null,
  ])
  const name = heading(2, endpointName(route), route.id)
  return {
    html: html`<section class="ep" aria-labelledby="${route.id}">
      ${name.html}
      <div>${about.html}</div>
      <div>${samples.html}</div>
    </section>`,
    md: stacked([name, about, samples]).md,
  }
}

interface Field {
  readonly name: string
  readonly type: Inline
  readonly isRequired: boolean
  readonly about: Inline
}

function fields(title: string, shown: readonly Field[]): HtmlAndMarkdown | null {
  if (shown.length === 0) return null
  const rendered = shown.map(({ name, type, isRequired, about }) => {
    return { name, isRequired, type: renderInline(type), about: renderInline(about) }
  })
  return {
    html: html`<h3>${title}</h3>
      <dl class="params">
        ${rendered.map(
          ({ name, type, isRequired, about }) =>
            html`<div>
              <dt>
                <code>${name}</code> <span>${type.html}</span>
                ${isRequired && html`<span class="required">required</span>`}
              </dt>
              <dd>${about.html}</dd>
            </div>`,
        )}
      </dl>`,
    md: [
      `${title}:\n`,
      ...rendered.map(
        ({ name, type, isRequired, about }) =>
          `- \`${name}\` (${type.md}${isRequired ? ', required' : ''}): ${about.md}`,
      ),
    ].join('\n'),
  }
}

function parameters(title: string, operation: JsonValue | undefined, place: 'path' | 'query') {
  const shown = list(member(operation, 'parameters')).filter((each) => member(each, 'in') === place)
  return fields(
    title,
    shown.map((each) => ({
      name: text(member(each, 'name')) ?? '',
      type: typeText(member(each, 'schema') ?? null),
      isRequired: member(each, 'required') === true,
      about: inline`${textWithCode(text(member(each, 'description')) ?? '')}${valueText(' Default', member(member(each, 'schema'), 'default'))}${valueText(' Example', member(each, 'example'))}`,
    })),
  )
}

function valueText(word: string, value: JsonValue | undefined): Inline {
  return value === undefined ? null : inline`${word}: ${code(plain(value))}.`
}

function bodyFields(spec: JsonValue, operation: JsonValue | undefined): HtmlAndMarkdown | null {
  const body = member(operation, 'requestBody')
  const media = jsonOf(body)
  if (media === undefined) return null
  if (member(body, 'required') === false) return para(inline`Body: none, or ${code('{}')}.`)
  const schema = member(media, 'schema') ?? null
  const model = resolve(spec, schema)
  const required = new Set(list(member(model, 'required')))
  const shown = entries(member(model, 'properties')).map(([name, value]) => ({
    name,
    type: typeText(value),
    isRequired: required.has(name),
    about: textWithCode(text(member(value, 'description')) ?? ''),
  }))
  return fields('Body', shown) ?? para(inline`Body: ${typeText(schema)}`)
}

function statusCodes(spec: JsonValue, operation: JsonValue | undefined): HtmlAndMarkdown {
  const answers = entries(member(operation, 'responses')).map(
    ([status, answer]) => [status, resolve(spec, answer)] as const,
  )
  return folded(
    `Status codes: ${answers.map(([status]) => status).join(', ')}`,
    facts(
      answers.map(([status, answer]) => {
        const schema = member(jsonOf(answer), 'schema')
        const types = entries(member(answer, 'content')).map(([type]) => type)
        const about = textWithCode(text(member(answer, 'description')) ?? '')
        return [
          status,
          inline`${about} ${schema === undefined ? types.join(', ') : typeText(schema)}`,
        ]
      }),
    ),
  )
}

function jsonOf(answer: JsonValue | undefined): JsonValue | undefined {
  return member(member(answer, 'content'), 'application/json')
}

function recordedExample(title: string, answer: JsonValue | undefined): HtmlAndMarkdown | null {
  const shown = member(jsonOf(answer), 'example')
  return shown === undefined
    ? null
    : example(title, 'from a demonstration ledger with invented data', shown)
}

/** Longer answers are not shown, such as the description of the API. */
const maxAnswerLength = 20_000

/** The first rows of a document of this ledger. */
function answerOf(document: PublicDocument | undefined): HtmlAndMarkdown | null {
  if (document?.contentType !== 'application/json') return null
  const shown = firstRows(strictJsonOrNull(renderBody(document, '…')))
  if (JSON.stringify(shown).length > maxAnswerLength) return null
  return example('200', `from ${document.path} of this ledger`, shown)
}

/** One row of each list, and the start of a long text. */
export function firstRows(value: JsonValue): JsonValue {
  if (typeof value === 'string')
    return /^[^\n]{60,}? (?=.{40})/.exec(value)?.[0].concat('…') ?? value
  if (Array.isArray(value)) return value.slice(0, 1).map(firstRows)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, firstRows(inner)]))
}

function example(title: string, origin: string, shown: JsonValue): HtmlAndMarkdown {
  const source = JSON.stringify(shown, null, 2)
  const about = `${origin}; lists and long texts are cut`
  return {
    html: html`<div class="code">
      <div class="hd"><b>${title}</b> <span class="soft">${about}</span></div>
      <pre class="out" tabindex="0"><code>${source}</code></pre>
    </div>`,
    md: `${title}, ${about}:\n\n${codeBlock(source, 'json').md}`,
  }
}

function caching({ serving }: Route): string {
  return serving.kind === 'document'
    ? `signed document, ${serving.maxAgeSeconds} s`
    : `not cached (${serving.cache})`
}
