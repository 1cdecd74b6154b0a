import type { PreparedRequest } from '../../src/client/prepare.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { allGood } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'

export const exitCodes = { ok: 0, refused: 1, usage: 2, unreachable: 3 } as const

/** Escapes control characters and marks that reverse or hide text on a terminal. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (mark) => {
    if (mark === '\n' || mark === '\t') return mark
    return `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`
  })
}

/** One line per field, `job.id` for a field of a field; lists of objects follow as tables. */
export function describe(value: object): string {
  const fields = fieldsOf(value)
  const rows = fields.filter(([, member]) => !isTable(member))
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const lines = rows.map(([name, member]) => `${name.padEnd(width)}  ${cell(member)}\n`)
  const tables = fields.flatMap(([name, member]) => {
    if (!isTable(member)) return []
    const columns = [...new Set(member.flatMap((row) => Object.keys(row)))]
    return [`\n${name}\n${table(columns, member)}`]
  })
  return [...lines, ...tables].join('')
}

function fieldsOf(value: object, prefix = ''): (readonly [name: string, member: unknown])[] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    if (member === undefined) return []
    const isNested = typeof member === 'object' && member !== null && !Array.isArray(member)
    const path = `${prefix}${name}`
    return isNested ? fieldsOf(member, `${path}.`) : [[path, member] as const]
  })
}

function isTable(value: unknown): value is readonly object[] {
  const isRow = (row: unknown) => typeof row === 'object' && row !== null && !Array.isArray(row)
  return Array.isArray(value) && value.length > 0 && value.every(isRow)
}

export function table(columns: readonly string[], rows: readonly object[]): string {
  const cells = rows.map((row) => {
    const members: Readonly<Record<string, unknown>> = { ...row }
    return columns.map((column) => cell(members[column]))
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

export function json(value: unknown): string {
  return prettySorted(value)
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  if (typeof value === 'string') return plain(value).replaceAll('\n', ' ')
  if (Array.isArray(value) && value.length === 0) return 'none'
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return plain(value.join(', '))
  }
  return plain(JSON.stringify(value))
}

/** Prints checks and returns the exit code. */
export function printChecks(
  { print }: { readonly print: (value: object, text?: string) => void },
  subject: object,
  checks: readonly (Check & { readonly remedy?: string; readonly label?: string })[],
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
