/** Commands generated from routes. */
import { z } from 'zod'

import { prepareCall } from '../../src/client/call.ts'
import { CallError, PaymentRequiredError } from '../../src/client/errors.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import type { Issue } from '../../src/contract/errors.ts'
import { describeIssues } from '../../src/contract/issue-text.ts'
import type { AnswerOf } from '../../src/contract/route-types.ts'
import type { Route } from '../../src/contract/route.ts'
import { routeOf } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { demoSentence } from '../../src/core/demo-mark.ts'
import { fieldsOf, isRepeated } from './api-fields.ts'
import type { Field } from './api-fields.ts'
import type { Arguments, Command, OptionGroup } from './command.ts'
import { readPayment } from './files.ts'
import { UsageError, textsOf } from './input.ts'
import type { Input } from './input.ts'
import { table } from './output.ts'
import { maxMicroUsdc, signPayment } from './pay.ts'
import type { Session } from './session.ts'

type ComputeField = (session: Session, input: Input) => unknown

export interface Additions<Id extends RouteId> {
  /** The default follows from the operationId. */
  readonly words?: string
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
  /** Replaces the list of all members. */
  readonly text?: (answer: AnswerOf<Id>) => string
  /** Of a table, with spaces between them. */
  readonly columns?: string
  /** The default is the first list of objects. */
  readonly rows?: (answer: AnswerOf<Id>) => readonly object[]
  readonly footer?: (answer: AnswerOf<Id>) => string
}

export function apiCommand<Id extends RouteId>(id: Id, additions: Additions<Id> = {}): Command {
  const route = routeOf(id)
  const { computed = {}, columns } = additions
  const fields = fieldsOf(route, additions.operands).filter(({ name }) => !(name in computed))
  const isSoldRead = route.price !== undefined && route.method === 'GET'
  return {
    words: additions.words ?? wordsOf(route),
    section: route.tag,
    summary: route.summary,
    description: additions.description,
    args: {
      ...Object.fromEntries(fields.map((field) => [field.argument, field])),
      ...additions.args,
    },
    groups: groupsOf(route, isSoldRead),
    run: async (session, input) => {
      const { params, query, body } = readFields(fields, input)
      const needsKey = route.access !== 'public' && additions.needsKey?.(input) !== false
      const pays = isSoldRead && input.flag('pay')
      if (pays) maxMicroUsdc(input)
      const { caller } =
        needsKey && !pays
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
      const text =
        columns === undefined
          ? additions.text
          : (answer: AnswerOf<Id>) => tableOf(answer, additions)
      const perform = async (payment = readPayment(input)) => {
        const call = await prepareCall(caller, id, {
          params: textsOf(params),
          query: textsOf(query),
          body,
          oath,
          idempotencyKey: input.text('idempotency-key'),
          payment,
          payerSignature: input.text('payer-signature'),
        }).catch((error: unknown) => {
          if (!(error instanceof CallError) || error.issues.length === 0) throw error
          throw new UsageError(explain(error.issues, fields))
        })
        await session.perform(call, text)
      }
      try {
        await perform()
      } catch (error) {
        if (!pays || !(error instanceof PaymentRequiredError)) throw error
        await perform(await signPayment(session, input, error))
      }
    },
  }
}

/** Examples: `listRails` becomes `rails`, `getJob` `job show`, `getReceiptProof` `receipt proof`, `postJob` `job post`. */
function wordsOf({ id, path }: Route): string {
  const [verb = '', ...words] = id.split(/(?=[A-Z])/).map((word) => word.toLowerCase())
  const last = verb === 'get' && path.endsWith('}') ? 'show' : verb
  return [...words, ...(last === 'get' || last === 'list' ? [] : [last])].join(' ')
}

function groupsOf(
  { price, priceRange, access, method }: Route,
  isSoldRead: boolean,
): OptionGroup[] {
  return [
    ...(isSoldRead ? ['pay' as const] : []),
    ...(price === undefined && priceRange === undefined ? [] : ['payment' as const]),
    ...(access === 'public' ? [] : ['key' as const]),
    ...(method === 'POST' ? ['repeat' as const] : []),
    'preview',
    'ledger',
  ]
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
    const { error } = value === null ? {} : fieldSchema.safeParse(value)
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

function readField(field: Field, input: Input): unknown {
  const { argument, fieldSchema, isRequired } = field
  if (isRepeated(fieldSchema)) {
    const list = input.list(argument)
    if (list.length === 0 && isRequired !== true) return undefined
    return fieldSchema instanceof z.ZodRecord ? Object.fromEntries(list.map(nameAndText)) : list
  }
  const text = input.text(argument)
  if (text === '' && field.isRemovable === true) return null
  if (fieldSchema instanceof z.ZodBoolean && /^(?:true|false)$/.test(text ?? ''))
    return text === 'true'
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

const listAnswer = z.looseObject({
  next_cursor: z.string().optional(),
  unknown_figures: z.array(z.string()).catch([]),
  computed_at: z.string().optional(),
  demo: z.boolean().optional(),
})
const rowList = z.array(z.looseObject({})).min(1)

/** Without `rows`, prints the first list that is not empty. */
function tableOf<Id extends RouteId>(
  answer: AnswerOf<Id>,
  { columns = '', rows, footer }: Additions<Id>,
): string {
  const parsed = listAnswer.parse(answer)
  const { next_cursor: next, computed_at: at, demo, unknown_figures: unknown, ...members } = parsed
  const lists = Object.values(members).map((member) => rowList.safeParse(member).data ?? [])
  const listed = rows?.(answer) ?? lists.find(({ length }) => length > 0) ?? []
  const more = next === undefined ? '' : `More: --cursor ${next}\n`
  const isUnknown = unknown.includes('count')
  const shown = isUnknown && listed.length === 0 ? '' : table(columns.split(' '), listed)
  const rest = isUnknown ? 'Their number is unknown until rails have been read.\n' : more
  const time = at === undefined ? '' : `Computed at ${at}.\n`
  const mark = demo === true ? `${demoSentence}\n` : ''
  return `${shown}${rest}${footer?.(answer) ?? ''}${time}${mark}`
}
