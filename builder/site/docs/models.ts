import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { contents, para, section, stacked } from '../../../src/pages/blocks.ts'
import { code, inline, join, link, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, table } from '../../../src/pages/table.ts'
import { entries, list, member, text } from '../../archive/facts.ts'
import { openApiOf } from '../../documents/site.ts'
import type { World } from '../../world/world.ts'

export const modelsPath = '/docs/models'

export function modelSchemas(world: Pick<World, 'site'>): readonly [string, JsonValue][] {
  return entries(member(member(openApiOf(world), 'components'), 'schemas'))
}

/** The component that `$ref` names, or the value itself. */
export function resolve(spec: JsonValue, value: JsonValue | undefined): JsonValue | undefined {
  const ref = text(member(value, '$ref'))
  if (ref === null) return value
  const [, ...names] = ref.split('/')
  return names.reduce<JsonValue | undefined>((found, name) => member(found, name), spec)
}

export function modelSections(world: Pick<World, 'site'>): HtmlAndMarkdown {
  const schemas = modelSchemas(world)
  return stacked([
    contents(schemas.map(([name]) => [`#${name}`, name])),
    ...schemas.map(([name, schema]) => section(name, name, fieldTable(name, schema))),
  ])
}

function fieldTable(name: string, schema: JsonValue): HtmlAndMarkdown {
  const fields = entries(member(schema, 'properties'))
  const required = new Set(list(member(schema, 'required')))
  if (fields.length === 0) return para(typeText(schema))
  return table(fields, {
    id: `${name}-fields`,
    caption: `Fields of ${name}.`,
    sortable: false,
    columns: [
      column(
        'Field',
        ([field]) => inline`${code(field)}${required.has(field) ? null : ' optional'}`,
      ),
      column('Type', ([, value]) => typeText(value)),
      column('Notes', ([, value]) => textWithCode(text(member(value, 'description')) ?? '')),
    ],
  })
}

/** A text without quotation marks, and any other value as JSON. */
export function plain(value: JsonValue): string {
  return text(value) ?? JSON.stringify(value)
}

/** `array of Rail`, `integer or null`, or the values of an enum. */
export function typeText(schema: JsonValue): HtmlAndMarkdown {
  const nullable = member(schema, 'nullable') === true ? ' or null' : ''
  return inline`${nonNullType(schema)}${nullable}`
}

function nonNullType(schema: JsonValue): HtmlAndMarkdown {
  const ref = text(member(schema, '$ref'))?.split('/').at(-1) ?? null
  if (ref !== null) return link(`${modelsPath}#${ref}`, ref)
  const words = list(member(schema, 'enum')).filter((word) => word !== null)
  if (words.length > 0) {
    const values = words.map((word) => code(plain(word)))
    return join(values, ', ')
  }
  const items = member(schema, 'items')
  if (items !== undefined) {
    return inline`array of ${typeText(items)}${bounds(schema, 'Items', ' entries')}`
  }
  const parts = ['allOf', 'oneOf', 'anyOf'].flatMap((key) => list(member(schema, key)))
  if (parts.length > 0) return join(parts.map(typeText), ' or ')
  const format = text(member(schema, 'format'))
  const type = text(member(schema, 'type')) ?? 'anything'
  const isNotable = format !== null && !['int64', 'int32', 'uri'].includes(format)
  const pattern = text(member(schema, 'pattern'))
  return inline`${type}${isNotable ? `, ${format}` : ''}${bounds(schema, 'Length', ' characters')}${bounds(schema, 'imum', '')}${pattern === null ? null : inline`, ${code(pattern)}`}`
}

/** `, 1 to 32 entries` from `minItems` and `maxItems`; empty if neither is set. */
function bounds(schema: JsonValue, name: 'Items' | 'Length' | 'imum', unit: string): string {
  const [least, most] = ['min', 'max'].map((end) => member(schema, `${end}${name}`))
  if (typeof most !== 'number') return typeof least === 'number' ? `, at least ${least}${unit}` : ''
  return typeof least === 'number' && least > 0
    ? `, ${least} to ${most}${unit}`
    : `, at most ${most}${unit}`
}
