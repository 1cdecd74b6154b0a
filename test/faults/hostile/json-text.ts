/** JSON as an attacker writes it: repeated names, and numbers and escapes that no serialiser produces. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json }

/** A change at one place of a document. `at` counts places and wraps around. */
export interface Change {
  readonly at: number
  /** Gets the text of the value, and its name if it is a member of an object. Returns the text of a value, or of members. */
  readonly apply: (text: string, name: string | null) => string
}

export const memberText = (name: string | null, text: string): string =>
  name === null ? text : `${JSON.stringify(name)}:${text}`

export function jsonText(document: unknown, changes: readonly Change[] = []): string {
  const count = placesIn(document)
  let place = -1
  const write = (value: unknown, name: string | null): string => {
    place += 1
    const own = place
    const text = withParts(value)
    const change = changes.find(({ at }) => at % count === own)
    return change === undefined ? memberText(name, text) : change.apply(text, name)
  }
  const join = (parts: readonly string[]) => parts.filter((part) => part !== '').join(',')
  const withParts = (value: unknown): string => {
    if (Array.isArray(value)) return `[${join(value.map((item) => write(item, null)))}]`
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    return `{${join(Object.entries(value).map(([name, own]) => write(own, name)))}}`
  }
  return write(document, null)
}

function placesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, own) => sum + placesIn(own), 1)
}
