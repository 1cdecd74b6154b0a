/**
 * What was made of an input is given again as long as every member of it that was read then is the same value now. What
 * is read decides, and nothing has to be declared: a pure function that reads the same comes to the same.
 *
 * @param make Pure. It may read the input later too, from closures: what it finds there is of the newest input.
 */
export function memoizeByReads<Input extends object, Made>(
  make: (input: Input) => Made,
): (input: Input) => Made {
  let last: { readonly made: Made; readonly read: ReadonlyMap<PropertyKey, unknown> } | null = null
  let newest: Input
  const newestInput = () => newest
  return (input) => {
    newest = input
    if (last !== null && [...last.read].every((entry) => isSame(input, entry))) return last.made
    const read = new Map<PropertyKey, unknown>()
    last = null
    const made = make(watched(newestInput, read))
    last = { made, read }
    return made
  }
}

/**
 * Stands for the newest input and notes what is read of it. It holds no earlier one: what was made may hold it for as
 * long as the process runs, an input is large, and what was not read of it is to go.
 */
function watched<Input extends object>(
  newest: () => Input,
  read: Map<PropertyKey, unknown>,
): Input {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every member comes from the newest input.
  return new Proxy({} as Input, {
    get: (_nothing, name) => {
      const value: unknown = Reflect.get(newest(), name)
      read.set(name, value)
      return value
    },
    has: (_nothing, name) => Reflect.has(newest(), name),
    ownKeys: () => Reflect.ownKeys(newest()),
    // A proxy may tell of no fixed member that its target lacks.
    getOwnPropertyDescriptor: (_nothing, name) => {
      const found = Reflect.getOwnPropertyDescriptor(newest(), name)
      return found === undefined ? undefined : { ...found, configurable: true }
    },
  })
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

/** Forgets what is known by names that are gone: they come and go all day, and the process runs for months. */
export function pruneMissing(
  known: Map<string, unknown>,
  present: { readonly has: (name: string) => boolean },
): void {
  for (const name of known.keys()) if (!present.has(name)) known.delete(name)
}
