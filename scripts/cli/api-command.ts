/** Commands generated from routes: path parameters are operands, query and body fields are options. */
import { z } from 'zod'

import { prepareCall } from '../../src/client/call.ts'
import { CallError } from '../../src/client/errors.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import type { Issue } from '../../src/contract/errors.ts'
import { describeIssues } from '../../src/contract/issue-text.ts'
import type { AnswerOf } from '../../src/contract/route-types.ts'
import type { Route } from '../../src/contract/route.ts'
import { routeOf } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import type { Argument, Arguments, Command, OptionGroup } from './command.ts'
import { readPayment } from './files.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { table } from './output.ts'
import type { Session } from './session.ts'

type ComputeField = (session: Session, input: Input) => unknown

interface Additions<Id extends RouteId> {
  readonly description?: string
  /** Body fields that are operands. */
  readonly operands?: readonly string[]
  /** Body fields that the command computes; undefined omits the field. */
  readonly computed?: Readonly<Record<string, ComputeField>>
  /** Further arguments, for `computed` and `oath`. */
  readonly args?: Arguments
  readonly oath?: (input: Input) => OathText['kind'] | undefined
  /** Returns false if this input needs no key. */
  readonly needsKey?: (input: Input) => boolean
  readonly columns?: readonly string[]
  /** The default is the first list of objects. */
  readonly rows?: (answer: AnswerOf<Id>) => readonly object[]
  readonly footer?: (answer: AnswerOf<Id>) => string
}

interface Field extends Argument {
  readonly place: 'params' | 'query' | 'body'
  readonly name: string
  /** The schema without `optional` and `nullable`. */
  readonly fieldSchema: z.ZodType
  /** Name of the operand or option. */
  readonly argument: string
}

export function apiCommand<Id extends RouteId>(
  words: string,
  id: Id,
  additions: Additions<Id> = {},
): Command {
  const route = routeOf(id)
  const { computed = {}, columns } = additions
  const fields = fieldsOf(route, additions.operands).filter(({ name }) => !(name in computed))
  const isSoldRead = route.price !== undefined && route.method === 'GET'
  return {
    words,
    summary: route.summary,
    description: additions.description,
    args: {
      ...Object.fromEntries(fields.map((field) => [field.argument, field])),
      ...additions.args,
    },
    groups: groupsOf(route),
    run: async (session, input) => {
      const { params, query, body } = readFields(fields, input)
      const needsKey = route.access !== 'public' && additions.needsKey?.(input) !== false
      const { caller } = needsKey
        ? await session.client(isSoldRead ? 'key-if-given' : 'key')
        : session.reader()
      const kind = additions.oath?.(input)
      const oath =
        kind === undefined
          ? undefined
          : newestOath((await session.reader().call('listOaths')).oaths, kind)
      for (const [name, compute] of Object.entries(computed)) {
        const value = await compute(session, input)
        if (value !== undefined) body[name] = value
      }
      const call = await prepareCall(caller, id, {
        params: textsOf(params),
        query: textsOf(query),
        body,
        oath,
        idempotencyKey: input.text('idempotency-key'),
        payment: readPayment(input),
      }).catch((error: unknown) => {
        if (!(error instanceof CallError) || error.issues.length === 0) throw error
        throw new UsageError(explain(error.issues, fields))
      })
      const text = (answer: AnswerOf<Id>) => tableOf(answer, columns ?? [], additions)
      await session.perform(call, columns === undefined ? undefined : text)
    },
  }
}

function groupsOf({ price, priceRange, access, method }: Route): OptionGroup[] {
  return [
    ...(price === undefined && priceRange === undefined ? [] : ['payment' as const]),
    ...(access === 'public' ? [] : ['key' as const]),
    ...(method === 'POST' ? ['repeat' as const] : []),
    'preview',
    'ledger',
  ]
}

const signatureFields = ['wallet', 'timestamp', 'signature', 'oath_signature']

function fieldsOf(route: Route, bodyOperands: readonly string[] = []): readonly Field[] {
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
    return {
      place: 'body' as const,
      name,
      fieldSchema,
      doc: wrapped.description ?? fieldSchema.description ?? name.replaceAll('_', ' '),
      isRequired: !wrapped.safeParse(undefined).success,
      isOperand: bodyOperands.includes(name),
    }
  })
  return [...parameters, ...body].map((field) => ({
    ...field,
    doc: firstSentence(field.doc),
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

function isRepeated(schema: z.ZodType): boolean {
  return schema instanceof z.ZodArray || schema instanceof z.ZodRecord
}

/** Longer lists of choices would widen the columns of the help. */
const MAX_PLACEHOLDER = 60

function placeholder(name: string, schema: z.ZodType): string {
  if (schema instanceof z.ZodEnum) {
    const choices = schema.options.join('|')
    return choices.length > MAX_PLACEHOLDER ? 'text' : choices
  }
  if (schema instanceof z.ZodNumber) return 'number'
  if (schema instanceof z.ZodRecord) return 'name=text'
  if (name.endsWith('_usdc')) return 'usdc'
  const format = schema.meta()?.['format']
  if (format === 'date-time') return 'RFC 3339'
  return format === 'uri' ? 'url' : 'text'
}

function firstSentence(text: string): string {
  const [sentence = text] = /^.*?\.(?=\s|$)/s.exec(text) ?? []
  const line = sentence.replace(/\.$/, '').replaceAll('`', '')
  return /^[A-Z][a-z]/.test(line) ? `${line.charAt(0).toLowerCase()}${line.slice(1)}` : line
}

type FieldValues = Record<Field['place'], Record<string, unknown>>

/** @throws UsageError with the issue of each invalid field */
function readFields(fields: readonly Field[], input: Input): FieldValues {
  const values: FieldValues = { params: {}, query: {}, body: {} }
  const issues: Issue[] = []
  for (const field of fields) {
    const { place, name, fieldSchema } = field
    const value = readField(field, input)
    if (value === undefined && field.isRequired !== true) continue
    const { error } = fieldSchema.safeParse(value)
    if (error === undefined) values[place][name] = value
    else
      issues.push({
        path: name,
        message: describeIssues(error, value)[0]?.message ?? 'is not valid',
      })
  }
  if (issues.length > 0) throw new UsageError(explain(issues, fields))
  return values
}

function readField({ argument, fieldSchema, isRequired }: Field, input: Input): unknown {
  if (isRepeated(fieldSchema)) {
    const list = input.list(argument)
    if (list.length === 0 && isRequired !== true) return undefined
    return fieldSchema instanceof z.ZodRecord ? Object.fromEntries(list.map(nameAndText)) : list
  }
  const text = input.text(argument)
  const isNumber = fieldSchema instanceof z.ZodNumber && /^-?\d+(?:\.\d+)?$/.test(text ?? '')
  return isNumber ? Number(text) : text
}

function nameAndText(text: string): [string, string] {
  const mark = text.indexOf('=')
  if (mark < 1) throw new UsageError('--field must be <name>=<text>')
  return [text.slice(0, mark), text.slice(mark + 1)]
}

/** Example: `skills: give at least one (--skill)`. */
function explain(issues: readonly Issue[], fields: readonly Field[]): string {
  const lines = issues.map(({ path, message }) => {
    const field = fields.find(({ name }) => name === path.split('.', 1)[0])
    if (field === undefined) return path === '' ? message : `${path}: ${message}`
    const { argument, isOperand } = field
    return `${path}: ${message} (\`${isOperand === true ? `<${argument}>` : `--${argument}`}\`)`
  })
  return lines.join('\n')
}

function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
}

const listAnswer = z.looseObject({ next_cursor: z.string().optional() })
const rowList = z.array(z.looseObject({})).min(1)

/** Without `rows`, lists the first list that is not empty. */
function tableOf<Id extends RouteId>(
  answer: AnswerOf<Id>,
  columns: readonly string[],
  { rows, footer }: Additions<Id>,
): string {
  const { next_cursor: next, ...members } = listAnswer.parse(answer)
  const lists = Object.values(members).map((member) => rowList.safeParse(member).data ?? [])
  const listed = rows?.(answer) ?? lists.find(({ length }) => length > 0) ?? []
  const more = next === undefined ? '' : `More: --cursor ${next}\n`
  return `${table(columns, listed)}${more}${footer?.(answer) ?? ''}`
}
