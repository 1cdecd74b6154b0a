/** The members that are there: an option that was not typed is no member of a body. */
export function given<T extends object>(
  members: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- exactly the undefined members are gone
  return Object.fromEntries(present) as { [Name in keyof T]?: Exclude<T[Name], undefined> }
}
