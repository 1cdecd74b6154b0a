export type Cell = string | number | boolean | null | undefined

/** Spreadsheets run such cells as formulas; a leading apostrophe makes them text. */
const formulaStart = /^[=+\-@\t\r]/

/** RFC 4180 with a header row. Null is an empty cell: unknown is not zero. */
export function csv<Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Partial<Record<Column, Cell>>>[],
): string {
  return csvLines([columns, ...rows.map((row) => columns.map((column) => row[column]))])
}

export function csvLines(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(',')}\r\n`).join('')
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell !== 'string') return String(cell)
  const inert = formulaStart.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
