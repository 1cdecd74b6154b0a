/** What people and programs read. Texts of a ledger are other people's: what moves a cursor is not printed. */
import { prettySorted } from '../../src/core/canonical-json.ts'

/** A text without control characters and marks that turn or hide text: safe on any terminal. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (mark) => {
    if (mark === '\n' || mark === '\t') return mark
    return `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`
  })
}

/** One line per member of an object, nested ones as JSON. */
export function describe(value: object): string {
  const rows = Object.entries(value).filter(([, member]) => member !== undefined)
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, member]) => `${name.padEnd(width)}  ${cell(member)}\n`).join('')
}

/** Rows of equal members as columns, under their names. */
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
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return plain(value.join(', '))
  }
  return plain(JSON.stringify(value))
}
