/**
 * What was made of an input is given again as long as every member of it that was read then is the same value now. What
 * is read decides, and nothing has to be declared: a pure function that reads the same comes to the same.
 *
 * @param make Pure. It may read the input later too, from closures: what it finds there is of the newest input.
 */
export function remembering<Input extends object, Made>(
  make: (input: Input) => Made,
): (input: Input) => Made {
  let last: { readonly made: Made; readonly read: ReadonlyMap<PropertyKey, unknown> } | null = null
  // Not the first one for ever: an input is large, and what was not read of it may go.
  let newest: Input
  return (input) => {
    newest = input
    if (last !== null && [...last.read].every((entry) => isSame(input, entry))) return last.made
    const read = new Map<PropertyKey, unknown>()
    const watched = new Proxy(input, {
      get: (_first, name) => {
        const value: unknown = Reflect.get(newest, name)
        read.set(name, value)
        return value
      },
    })
    last = null
    const made = make(watched)
    last = { made, read }
    return made
  }
}

function isSame(input: object, [name, value]: readonly [PropertyKey, unknown]): boolean {
  return Object.is(Reflect.get(input, name), value)
}

/** The earlier list where the later one has the same items: what is made of it need not be made again. */
export function sameItems<T>(earlier: readonly T[], later: readonly T[]): readonly T[] {
  const isEqual =
    earlier.length === later.length && later.every((item, index) => item === earlier[index])
  return isEqual ? earlier : later
}
