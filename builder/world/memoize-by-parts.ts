import type { World } from './world.ts'

/** Runs a pure function again only if one of its declared parts of the world has been replaced. */
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
    // A copy, so that the result cannot retain other parts.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It has exactly these members.
    const declared = Object.fromEntries(parts.map((part) => [part, world[part]])) as Pick<
      World,
      Part
    >
    last = { world: declared, made: make(declared) }
    return last.made
  }
}
