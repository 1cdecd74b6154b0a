import type { PreparedRequest } from '../../src/client/prepare.ts'
import { allGood } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import { figureNames } from '../../src/core/figures.ts'

export const exitCodes = { ok: 0, refused: 1, usage: 2, unreachable: 3 } as const

/** Escapes control characters and marks that reverse or hide text on a terminal. */
export function plain(text: string): string {
  return text.replaceAll(/\r\n|[\p{Cc}\p{Cf}]/gu, (mark) => {
    if (/^(?:\r?\n|\t)$/.test(mark)) return mark
    return `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`
  })
}

/** Wider tables are printed as one block per row. */
const maxWidth = 120

/** Null means that such a member is unknown. */
const isFigure = (name: string) =>
  name === 'value' || [...figureNames, 'expected_usd_per_day'].some((one) => name.startsWith(one))

/** One line per member, `job.id` for a member of a member; lists of objects follow, indented. */
export function describe(value: object): string {
  const members = membersOf(value)
  const rows = members.filter(([, member]) => !isList(member))
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const newline = `\n${' '.repeat(width + 2)}`
  const lines = rows.map(([name, member]) => `${name.padEnd(width)}  ${cell(member, newline)}\n`)
  const lists = members.flatMap(([name, member]) =>
    isList(member) ? [`\n${name}\n${listed(member).replaceAll(/^(?=.)/gm, '  ')}`] : [],
  )
  return [...lines, ...lists].join('')
}

function listed(rows: readonly object[]): string {
  const members = rows.flatMap((row) => membersOf(row))
  const text = table([...new Set(members.map(([name]) => name))], rows)
  const isTable =
    members.every(([, member]) => !isList(member)) &&
    text.split('\n').every(({ length }) => length <= maxWidth)
  return isTable ? text : rows.map(describe).join('\n')
}

type Member = readonly [name: string, value: unknown]

/** Unknown figures read `unknown`; the status of a rail that no rule has judged reads `not judged`. */
function membersOf(
  value: { readonly unknown_figures?: unknown; readonly judged?: unknown },
  prefix = '',
): readonly Member[] {
  const { unknown_figures: unknown, judged } = value
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): readonly Member[] => {
    const path = `${prefix}${name}`
    if (member === undefined) return []
    const isListed = Array.isArray(unknown) && unknown.includes(name)
    if (isListed || (member === null && isFigure(name))) return [[path, 'unknown']]
    if (judged === false && name === 'status') return [[path, 'not judged']]
    const isNested = typeof member === 'object' && member !== null && !Array.isArray(member)
    return isNested && !isEmpty(member) ? membersOf(member, `${path}.`) : [[path, member]]
  })
}

function isList(value: unknown): value is readonly object[] {
  const isRow = (row: unknown) => typeof row === 'object' && row !== null && !Array.isArray(row)
  return Array.isArray(value) && value.length > 0 && value.every(isRow)
}

const isEmpty = (value: object) => Object.keys(value).length === 0

export function table(columns: readonly string[], rows: readonly object[]): string {
  if (rows.length === 0) return 'No entries.\n'
  const cells = rows.map((row) => {
    const members = new Map(membersOf(row))
    return columns.map((column) => cell(members.get(column)))
  })
  const widths = columns.map((column, at) =>
    Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return [columns, ...cells].map((row) => `${line(row)}\n`).join('')
}

function cell(value: unknown, newline = ' '): string {
  if (value === undefined || value === null) return '-'
  if (typeof value === 'string') return plain(value).replaceAll(/\r?\n/g, newline)
  if (typeof value === 'object' && isEmpty(value)) return 'none'
  if (!Array.isArray(value) || value.some((item) => typeof item === 'object'))
    return plain(JSON.stringify(value))
  return plain(value.join(', '))
}

/** Prints checks and returns the exit code. */
export function printChecks(
  { print }: { readonly print: (value: object, text?: string) => void },
  subject: object,
  checks: readonly (Check & { readonly remedy?: string })[],
): number {
  const good = allGood(checks)
  const lines = checks.map(
    ({ good: isGood, what, detail, remedy, label = isGood ? 'good' : 'BAD ' }) => {
      const line = `${label}  ${plain(what)}: ${plain(detail)}\n`
      return remedy === undefined ? line : `${line}      What to do: ${remedy}\n`
    },
  )
  const verdict = good ? 'All checks passed.' : 'Some checks failed.'
  print({ ...subject, good, checks }, `${describe(subject)}${lines.join('')}${verdict}\n`)
  return good ? exitCodes.ok : exitCodes.refused
}

/** The command contains the signatures of the request but no key. */
export function curlCommand({ method, url, headers, body }: PreparedRequest): string {
  const parts = [
    'curl --silent --show-error',
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    ...Object.entries(headers).map(([name, value]) => `--header ${quote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`--data-binary ${quote(body)}`]),
    quote(url),
  ]
  return `${parts.join(' \\\n  ')}\n`
}

/** In curl a body that begins with `@` names a file; bodies here are JSON. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
