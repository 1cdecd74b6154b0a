/** Tables as values: the statements of the schema, the row types and the column lists come from one definition. */
import type { Column } from './column.ts'

export interface TableDefinition {
  readonly columns: Readonly<Record<string, Column>>
  /** Keys of several columns, and checks that compare columns. */
  readonly constraints?: readonly string[]
  readonly withoutRowid?: true
  /** Columns and condition by the name of the index. */
  readonly indexes?: Readonly<Record<string, string>>
  readonly uniqueIndexes?: Readonly<Record<string, string>>
  /** The error of triggers that refuse updates and deletions. */
  readonly appendOnly?: string
  readonly triggers?: readonly string[]
}

/** The row of a table, as Kysely describes it: stored values, or members of records. */
export type RowOf<Definition extends TableDefinition, Side extends 'value' | 'member'> = {
  -readonly [Name in keyof Definition['columns']]: NonNullable<
    Definition['columns'][Name]['types']
  >[Side]
}

/** Creates the table, its indexes and its triggers. Tables are STRICT. */
export function tableStatements(name: string, definition: TableDefinition): readonly string[] {
  const { columns, constraints = [], withoutRowid, appendOnly } = definition
  const { indexes = {}, uniqueIndexes = {}, triggers = [] } = definition
  const parts = Object.entries(columns).map(
    ([column, { sql }]) => `${column} ${sql.replaceAll('$', column)}`,
  )
  const kind = withoutRowid === true ? 'strict, without rowid' : 'strict'
  const refused = appendOnly === undefined ? [] : (['update', 'delete'] as const)
  return [
    `create table ${name} (\n  ${[...parts, ...constraints].join(',\n  ')}\n) ${kind}`,
    ...Object.entries(indexes).map(([index, on]) => `create index ${index} on ${name} ${on}`),
    ...Object.entries(uniqueIndexes).map(
      ([index, on]) => `create unique index ${index} on ${name} ${on}`,
    ),
    ...refused.map(
      (change) =>
        `create trigger ${name}_no_${change} before ${change} on ${name} ` +
        `begin select raise(abort, '${appendOnly}'); end`,
    ),
    ...triggers,
  ]
}
