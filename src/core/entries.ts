export function entriesOf<T extends object>(table: T): [keyof T & string, T[keyof T]][] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `table` must have exactly the keys of its type
  return Object.entries(table) as [keyof T & string, T[keyof T]][]
}
