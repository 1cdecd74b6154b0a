import { randomFrom } from '../support/random.ts'

export interface Chance {
  /** A whole number from 0 up to `end`, exclusive. */
  readonly below: (end: number) => number
  readonly happens: (probability: number) => boolean
  readonly pick: <const List extends readonly unknown[]>(list: List) => List[number]
  readonly weighted: <Name extends string>(weights: Readonly<Record<Name, number>>) => Name
  readonly bytes: (length: number) => Uint8Array
}

export function createChance(seed: number): Chance {
  const next = randomFrom(seed)
  const below = (end: number): number => Math.floor(next() * end)
  return {
    below,
    happens: (probability) => next() < probability,
    pick: (list) => list[below(list.length)],
    weighted: (weights) => {
      const names = namesOf(weights)
      let left = next() * names.reduce((sum, name) => sum + weights[name], 0)
      const found = names.find((name) => {
        left -= weights[name]
        return left < 0
      })
      if (found === undefined) throw new Error('nothing to choose from')
      return found
    },
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
  }
}

export function seedFor(seed: number, purpose: string): number {
  let hash = Math.imul(seed ^ 0x9e_37_79_b9, 0x85_eb_ca_6b) >>> 0
  for (const letter of purpose) {
    hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01_00_01_93) >>> 0
    hash ^= hash >>> 13
  }
  return hash >>> 0
}

export function namesOf<Name extends string>(record: Readonly<Record<Name, unknown>>): Name[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the record says so.
  return Object.keys(record) as Name[]
}

/** A record with the same number under every name. */
export function countersOf<const Name extends string>(
  names: readonly Name[],
): Record<Name, number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of these very names.
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
}
