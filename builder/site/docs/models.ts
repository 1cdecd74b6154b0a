/** `/docs/models`: the fields of every model, from the OpenAPI document. */
import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { counted } from '../../../src/core/number-text.ts'
import { openApiOf } from '../../documents/site.ts'
import { list, member, text } from '../../publish/facts.ts'
import type { World } from '../../world/world.ts'
import { contents, links, para, section } from '../blocks.ts'
import { code, join, link, inline } from '../html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'
import { entries, refName } from './schema.ts'
import { contractText } from './text.ts'

export function modelsPage(world: World): SitePage {
  const schemas = entries(member(member(openApiOf(world), 'components'), 'schemas'))
  return {
    path: '/docs/models',
    title: 'Models',
    description: `The fields of ${counted(schemas.length, 'model')} of the API, made from the schemas that the service checks with.`,
    nav: '/docs',
    body: [
      para(
        inline`What the answers and bodies of the ${link('/docs/reference', 'endpoints')} hold.`,
        'lede',
      ),
      contents(schemas.map(([name]) => [`#${name}`, name])),
      ...schemas.map(([name, schema]) => section(name, name, fieldTable(name, schema))),
      links([
        ['/openapi.json', 'OpenAPI 3.0.3'],
        ['/openapi.d.ts', 'TypeScript types'],
      ]),
    ],
  }
}

function fieldTable(name: string, schema: JsonValue): HtmlAndMarkdown {
  const fields = entries(member(schema, 'properties'))
  const required = new Set(list(member(schema, 'required')))
  if (fields.length === 0) return para(inline`${typeText(schema)}`)
  return table({
    id: `${name}-fields`,
    caption: `Fields of ${name}.`,
    columns: [
      { label: 'Field', sortable: false },
      { label: 'Type', sortable: false },
      { label: 'Notes', sortable: false },
    ],
    rows: fields.map(([field, value]) => ({
      cells: [
        inline`${code(field)}${required.has(field) ? null : ' optional'}`,
        typeText(value),
        contractText(text(member(value, 'description')) ?? ''),
      ],
    })),
    empty: '',
  })
}

/** `array of Rail`, `integer or null`, one of some words. */
function typeText(schema: JsonValue): HtmlAndMarkdown {
  const nullable = member(schema, 'nullable') === true ? ' or null' : ''
  const ref = refName(schema)
  if (ref !== null) return inline`${link(`#${ref}`, ref)}${nullable}`
  const words = list(member(schema, 'enum')).map((word) => code(text(word) ?? JSON.stringify(word)))
  if (words.length > 0) return inline`${join(words, ', ')}${nullable}`
  const items = member(schema, 'items')
  if (items !== undefined)
    return inline`array of ${typeText(items)}${limits(schema, 'Items', 'entries')}${nullable}`
  const parts = ['allOf', 'oneOf', 'anyOf'].flatMap((key) => list(member(schema, key)))
  if (parts.length > 0) return inline`${join(parts.map(typeText), ' or ')}${nullable}`
  const format = text(member(schema, 'format'))
  const type = text(member(schema, 'type')) ?? 'anything'
  const isOdd = format !== null && !['int64', 'int32', 'uri'].includes(format)
  const form = text(member(schema, 'pattern'))
  return inline`${type}${isOdd ? `, ${format}` : ''}${limits(schema, 'Length', 'characters')}${limits(schema, 'imum', '')}${form === null ? null : inline`, ${code(form)}`}${nullable}`
}

/** `, 1 to 32 entries` of `minItems` and `maxItems`, and so on; nothing where there is no limit. */
function limits(schema: JsonValue, name: 'Items' | 'Length' | 'imum', unit: string): string {
  const [least, most] = ['min', 'max'].map((end) => member(schema, `${end}${name}`))
  const of = unit === '' ? '' : ` ${unit}`
  if (typeof most !== 'number') return typeof least === 'number' ? `, at least ${least}${of}` : ''
  return typeof least === 'number' && least > 0
    ? `, ${least} to ${most}${of}`
    : `, at most ${most}${of}`
}
