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
