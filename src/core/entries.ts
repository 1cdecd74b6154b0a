/** `Object.entries` of an object that has exactly the keys of its type. */
export function entriesOf<T extends object>(table: T): [keyof T & string, T[keyof T]][] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where the promise above is cashed in
  return Object.entries(table) as [keyof T & string, T[keyof T]][]
}
