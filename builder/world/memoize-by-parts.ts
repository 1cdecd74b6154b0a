import type { World } from './world.ts'

/**
 * Memoizes a pure function of some parts of the world: it runs again when one of them is another value. Gathering keeps
 * the value of a part that has not changed. A part that is not declared is not in the argument of `make`.
 */
export function memoizeByParts<Part extends keyof World, Made>(
  parts: readonly Part[],
  make: (world: Pick<World, NoInfer<Part>>) => Made,
): (world: Pick<World, Part>) => Made {
  let last: { readonly world: Pick<World, Part>; readonly made: Made } | null = null
  return (world) => {
    const known = last
    if (known !== null && parts.every((part) => known.world[part] === world[part])) {
      return known.made
    }
    last = null
    // A copy, so that the result cannot hold on to other parts.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It has exactly these members.
    const declared = Object.fromEntries(parts.map((part) => [part, world[part]])) as Pick<
      World,
      Part
    >
    last = { world: declared, made: make(declared) }
    return last.made
  }
}
