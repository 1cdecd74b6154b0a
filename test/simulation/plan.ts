/** The steps of a run, each with its own seed. */
import { createChance, namesOf, seedFor } from './random.ts'
import type { Chance } from './random.ts'

/** Relative frequencies of the kinds of steps. */
const weights = {
  register: 5,
  receipt: 10,
  claim: 2.5,
  signup: 4,
  attest: 3,
  profile: 2.5,
  free: 1.5,
  leave: 0.8,
  subscribe: 2,
  unsubscribe: 1,
  try: 1.5,
  enable: 1,
  apply: 1.5,
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
  'nearly a fortnight': 0.1,
  'over a fortnight': 0.1,
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
  send: 1.2,
  buy: 8,
  watch: 1,
  stranger: 1,
  fork: 0.4,
} as const

export interface Step {
  readonly kind: keyof typeof weights
  readonly salt: number
  /** True for a step of a scripted sequence, which waits for all open requests. */
  readonly isWilling: boolean
}

/** Complete jobs and their ends. */
const beginning = ['post', 'bid', 'award', 'deliver'] as const
const ends = {
  accepted: ['accept'],
  'accepted late': ['nearly a fortnight', 'expire', 'accept'],
  'accepted by silence': ['nearly a fortnight', 'expire', 'tick', 'over a fortnight', 'expire'],
  'silence at once': ['over a fortnight', 'expire'],
  disputed: ['dispute', 'accept'],
  'disputed late': ['nearly a fortnight', 'dispute', 'over a fortnight', 'expire'],
  'disputed too late': ['over a fortnight', 'dispute', 'expire'],
} as const satisfies Readonly<Record<string, readonly Step['kind'][]>>

/** Subscriptions with their events. */
const news = {
  delivered: ['subscribe', 'poll', 'send', 'poll', 'send'],
  enabled: ['subscribe', 'send', 'poll', 'enable', 'send'],
  tested: ['subscribe', 'try', 'send', 'tick', 'send'],
  unsubscribed: ['subscribe', 'poll', 'unsubscribe', 'send'],
} as const satisfies Readonly<Record<string, readonly Step['kind'][]>>

/** A restored backup, and repeats of later requests. */
const restored = ['back up', 'receipt', 'signup', 'attest', 'put back', 'again', 'again'] as const

/** The second job may delete stored answers, because its process has run for long enough. */
const tidied = ['tidy', 'leap', 'receipt', 'signup', 'tidy'] as const

/** Scripted sequences, spread over the plan: up to two jobs with their ends, webhooks, a restore, deletions. */
function scriptedSequences(
  chance: Chance,
  step: (kind: Step['kind'], isWilling: boolean) => Step,
): Step[][] {
  const length = Number(chance.weighted({ 0: 4, 1: 5, 2: 1 }))
  const jobs = Array.from({ length }, () => [...beginning, ...ends[chance.pick(namesOf(ends))]])
  const webhooks = chance.happens(0.25) ? [news[chance.pick(namesOf(news))]] : []
  const setBack = chance.happens(0.08) ? [restored] : []
  const cleaned = chance.happens(0.06) ? [tidied] : []
  return [...jobs, ...webhooks, ...setBack, ...cleaned].map((life) =>
    life.map((kind) => step(kind, true)),
  )
}

export function planOf(seed: number): readonly Step[] {
  const chance = createChance(seedFor(seed, 'plan'))
  const step = (kind: Step['kind'], isWilling = false): Step => ({
    kind,
    salt: chance.below(2 ** 32),
    isWilling,
  })
  const length = 10 + chance.below(34)
  // Most of what partners do needs partners.
  const signups = Array.from({ length: 2 + chance.below(3) }, (_, at) => step('signup', at < 2))
  const steps = Array.from({ length }, () => step(chance.weighted(weights)))
  for (const sequence of scriptedSequences(chance, step)) {
    let at = chance.below(steps.length + 1)
    for (const one of sequence) {
      steps.splice(at, 0, one)
      at = Math.min(steps.length, at + 1 + chance.below(3))
    }
  }
  return [...signups, ...steps]
}
