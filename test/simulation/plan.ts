/** What happens in a run, in order. Each step has a seed of its own, so that one can be left out and the others stay. */
import { createChance, seedFor } from './random.ts'
import type { kinds } from './requests.ts'

const others = [
  'again',
  'look',
  'tick',
  'leap',
  'back',
  'fault',
  'kill service',
  'kill builder',
  'power',
  'back up',
  'put back',
  'build',
  'expire',
  'tidy',
  'poll',
] as const

export interface Step {
  readonly kind: (typeof kinds)[number] | (typeof others)[number]
  readonly salt: number
}

const weights = {
  register: 5,
  receipt: 10,
  claim: 3,
  signup: 4,
  attest: 3,
  post: 4,
  bid: 6,
  award: 4,
  deliver: 4,
  accept: 3,
  dispute: 1,
  cancel: 1,
  feedback: 3,
  propose: 2,
  again: 12,
  look: 4,
  tick: 5,
  leap: 1.5,
  back: 1,
  fault: 5,
  'kill service': 1,
  'kill builder': 0.5,
  power: 0.7,
  'back up': 0.4,
  'put back': 0.3,
  build: 2,
  expire: 1.5,
  tidy: 0.5,
  poll: 1.2,
} as const satisfies Record<Step['kind'], number>

export function planOf(seed: number): readonly Step[] {
  const chance = createChance(seedFor(seed, 'plan'))
  const length = 15 + chance.below(40)
  const step = (kind: Step['kind']): Step => ({ kind, salt: chance.below(2 ** 32) })
  // Most of what partners do needs partners.
  const signups = Array.from({ length: 2 + chance.below(4) }, () => step('signup'))
  return [...signups, ...Array.from({ length }, () => step(chance.weighted(weights)))]
}
