/** Arguments generated from routes: path parameters are operands, query and body fields are options. */
import { z } from 'zod'

import type { Route } from '../../src/contract/route.ts'
import type { Argument } from './command.ts'

export interface Field extends Argument {
  readonly place: 'params' | 'query' | 'body'
  readonly name: string
  /** The schema without `optional` and `nullable`. */
  readonly fieldSchema: z.ZodType
  /** The empty text sends null. */
  readonly isRemovable?: boolean
  /** Name of the operand or option. */
  readonly argument: string
}

const signatureFields = ['wallet', 'timestamp', 'signature', 'oath_signature']

export function fieldsOf(route: Route, bodyOperands: readonly string[] = []): readonly Field[] {
  const parameters = (['params', 'query'] as const).flatMap((place) =>
    Object.entries(route[place] ?? {}).map(([name, { schema: fieldSchema, description: doc }]) => ({
      place,
      name,
      fieldSchema,
      doc,
      isRequired: place === 'params',
      isOperand: place === 'params',
    })),
  )
  const body = Object.entries(bodyShape(route.body)).map(([name, wrapped]) => {
    const fieldSchema = unwrap(wrapped)
    const doc = wrapped.description ?? fieldSchema.description ?? name.replaceAll('_', ' ')
    const isRemovable = wrapped.safeParse(null).success
    return {
      place: 'body' as const,
      name,
      fieldSchema,
      doc: isRemovable ? `${firstSentence(doc)}; "" removes it` : doc,
      isRequired: !wrapped.safeParse(undefined).success,
      isRemovable,
      isOperand: bodyOperands.includes(name),
    }
  })
  return [...parameters, ...body].map((field) => ({
    ...field,
    doc: `${firstSentence(field.doc)}${longChoices(field.fieldSchema)}`,
    argument: argumentName(field.name, field.fieldSchema),
    value: placeholder(field.name, field.fieldSchema),
    isRepeatable: isRepeated(field.fieldSchema),
  }))
}

/** Returns the fields without signature fields. Fields of a union are optional. */
function bodyShape(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  if (schema instanceof z.ZodUnion) {
    const shapes = schema.options.map((option) =>
      Object.entries(bodyShape(option instanceof z.ZodType ? option : undefined)),
    )
    return Object.fromEntries(shapes.flat().map(([name, field]) => [name, field.optional()]))
  }
  if (!(schema instanceof z.ZodObject)) return {}
  const isSigned = 'oath_signature' in schema.shape || 'signature' in schema.shape
  return Object.fromEntries(
    Object.entries<z.core.$ZodType>(schema.shape)
      .filter(([name]) => !isSigned || !signatureFields.includes(name))
      .flatMap(([name, field]) => (field instanceof z.ZodType ? [[name, field]] : [])),
  )
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
  const inner = isWrapper ? schema.unwrap() : null
  return inner instanceof z.ZodType ? unwrap(inner) : schema
}

/** Examples: `budget_usdc` becomes `budget`, `skills` becomes `skill`, `eta_hours` becomes `eta-hours`. */
function argumentName(name: string, schema: z.ZodType): string {
  const bare = name.replace(/_(?:usdc|id|short)$/, '').replaceAll('_', '-')
  return isRepeated(schema) ? bare.replace(/s$/, '') : bare
}

export function isRepeated(schema: z.ZodType): boolean {
  return schema instanceof z.ZodArray || schema instanceof z.ZodRecord
}

/** Longer lists of choices would widen the columns of the help. */
const MAX_PLACEHOLDER = 60

/** The choices that do not fit in the placeholder. */
function longChoices(schema: z.ZodType): string {
  const choices = schema instanceof z.ZodArray ? schema.element : schema
  if (!(choices instanceof z.ZodEnum) || placeholder('', choices) !== 'text') return ''
  return `: ${choices.options.join(', ')}`
}

function placeholder(name: string, schema: z.ZodType): string {
  if (schema instanceof z.ZodEnum) {
    const choices = schema.options.join('|')
    return choices.length > MAX_PLACEHOLDER ? 'text' : choices
  }
  if (schema instanceof z.ZodNumber) return 'number'
  if (schema instanceof z.ZodBoolean) return 'true|false'
  if (schema instanceof z.ZodRecord) return 'name=text'
  if (name.endsWith('_usdc')) return 'usdc'
  const format = schema.meta()?.['format']
  if (format === 'date-time') return 'RFC 3339'
  return format === 'uri' ? 'url' : 'text'
}

function firstSentence(text: string): string {
  const [sentence = text] = /^.*?\.(?=\s|$)/s.exec(text) ?? []
  const line = sentence.replace(/\.$/, '').replaceAll('`', '')
  return /^[A-Z][a-z ]/.test(line) ? `${line.charAt(0).toLowerCase()}${line.slice(1)}` : line
}
