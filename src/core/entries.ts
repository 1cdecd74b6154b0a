export function entriesOf<T extends object>(table: T): [keyof T & string, T[keyof T]][] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `table` must have exactly the keys of its type
  return Object.entries(table) as [keyof T & string, T[keyof T]][]
}

export function recordOf<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has exactly these names
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<Name, Value>
}

type Present<Values> = { [Name in keyof Values]?: NonNullable<Values[Name]> }

/** Leaves out the members that are null or undefined. */
export function present<Values extends object>(values: Values): Present<Values> {
  const found = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only such members are left out
  return Object.fromEntries(found) as Present<Values>
}
