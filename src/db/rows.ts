/** Maps snake_case columns to camelCase records. */
import type { Insertable, Selectable } from 'kysely'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

type CamelKeys<Row> = {
  readonly [Column in keyof Row as Column extends string ? CamelCase<Column> : never]: Row[Column]
}

/** A column as `select` takes it: `tx_hash as txHash`. */
type Aliased<Column extends string> =
  Column extends CamelCase<Column> ? Column : `${Column} as ${CamelCase<Column>}`

/** JSON columns are still text. */
export type RecordOf<Table, Column extends keyof Table = keyof Table> = CamelKeys<
  Pick<Selectable<Table>, Column & keyof Selectable<Table>>
>

export type NewRecordOf<Table> = CamelKeys<Insertable<Table>>

function camelCase(column: string): string {
  return column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** Select list with camelCase aliases, so that rows need no mapping. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the table, the columns are inferred
export function recordColumns<Table>() {
  return <const Column extends keyof Table & string>(
    ...columns: readonly Column[]
  ): readonly Aliased<Column>[] =>
    columns.map((column) => {
      const alias = camelCase(column)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types state the same rule
      return (alias === column ? column : `${column} as ${alias}`) as Aliased<Column>
    })
}

const columnNames = new Map<string, string>()

export function columnOf(member: string): string {
  let column = columnNames.get(member)
  if (column === undefined) {
    column = member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    columnNames.set(member, column)
  }
  return column
}

export function toRow<Table>(
  record: NewRecordOf<Table> & { readonly seq?: never },
): Insertable<Table> {
  const row: Record<string, unknown> = {}
  for (const [member, value] of Object.entries(record)) row[columnOf(member)] = value
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types state the same rule
  return row as Insertable<Table>
}
