/**
 * How much may be under way at once. What comes beyond that is refused at once, for far less than doing it would cost,
 * and nobody waits in a line that is longer than their patience. Refusing has its price too, on the same event loop: at
 * five times the capacity most of it is left to those who are inside, at fourteen times little.
 *
 * A plain bound and not one on time in the queue (CoDel): the work per request is much the same, so a bound on how many
 * is a bound on how long, and it does not depend on a clock that stalls together with the event loop.
 */
import type { OutboundLimits } from '../actions/deps.ts'
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'

export const concurrencyLimitNames = ['write', 'read', 'payment', 'chain', 'mail', 'rail'] as const
export type ConcurrencyLimitName = (typeof concurrencyLimitNames)[number]

/**
 * Four times what the writer needs under way to be as fast as it gets, and a fraction of a second of its work. Purchases
 * wait for a block of the chain, so they have a room of their own. Those in the room of writes that wait for somebody
 * outside (a node, a mail server, a rail) take up at most half of it, whoever stalls and for how long: the other half is
 * for those that wait for our own disk alone.
 */
const capacities: Readonly<Record<ConcurrencyLimitName, number>> = {
  write: 256,
  read: 256,
  payment: 256,
  chain: 64,
  mail: 32,
  rail: 32,
}

export interface ConcurrencyLimit {
  /** True where another request would be refused. Counts nothing. */
  readonly isFull: () => boolean
  readonly refusal: () => Failure
  /**
   * Does the work in its turn. Come here once the request is whole: a body that drips in must not take up room.
   * @param isGone asked right before: nobody is left to answer.
   * @throws ApiError `unavailable` where the room is full
   */
  readonly run: <T>(work: () => Promise<T>, isGone?: () => boolean) => Promise<T>
}

export type ConcurrencyLimits = Readonly<Record<ConcurrencyLimitName, ConcurrencyLimit>>

const reasons = {
  write: 'Too many writes are under way',
  read: 'Too many requests are under way',
  payment: 'Too many payments are under way',
  chain: 'Too many signatures wait for the node that contract wallets are asked at',
  mail: 'Too many letters are on their way',
  rail: 'Too many applications are being forwarded',
} as const satisfies Record<ConcurrencyLimitName, string>

/** Of one process: its concurrency share one event loop. `shed` is told of each request that is refused. */
export function createConcurrencyLimits(
  shed: (limit: ConcurrencyLimitName) => void = () => undefined,
): ConcurrencyLimits {
  const turn = createTurns()
  return {
    write: createConcurrencyLimit('write', turn, shed),
    read: createConcurrencyLimit('read', turn, shed),
    payment: createConcurrencyLimit('payment', turn, shed),
    // Inside of another room, where the turn came already.
    chain: createConcurrencyLimit('chain', atOnce, shed),
    mail: createConcurrencyLimit('mail', atOnce, shed),
    rail: createConcurrencyLimit('rail', atOnce, shed),
  }
}

const atOnce = (): Promise<void> => Promise.resolve()

/** The concurrency for waiting, as actions know them. */
export function outboundLimitsOf({ chain, mail, rail }: ConcurrencyLimits): OutboundLimits {
  return {
    chain: (work) => chain.run(work),
    mail: (work) => mail.run(work),
    rail: (work) => rail.run(work),
  }
}

function createConcurrencyLimit(
  name: ConcurrencyLimitName,
  turn: () => Promise<void>,
  shed: (limit: ConcurrencyLimitName) => void,
): ConcurrencyLimit {
  const limit = capacities[name]
  let underWay = 0
  let refused = 0
  const isFull = () => underWay >= limit
  const refusal = (): Failure => {
    refused += 1
    shed(name)
    // Not all at the same second again.
    const seconds = 1 + (refused % 3)
    return {
      code: 'unavailable',
      details: `${reasons[name]}; nothing was done`,
      headers: { 'Retry-After': String(seconds) },
    }
  }
  return {
    isFull,
    refusal,
    async run(work, isGone = () => false) {
      if (isFull()) throw errorOf(refusal())
      underWay += 1
      try {
        await turn()
        if (isGone()) throw new ApiError('malformed_request', 'The connection has ended')
        return await work()
      } finally {
        underWay -= 1
      }
    },
  }
}

function errorOf({ code, details, headers = {} }: Failure): ApiError {
  return new ApiError(code, details, { headers })
}

/**
 * Starts of a turn of the event loop: few enough that new connections, of which libuv takes one in a turn, need not wait
 * for all of a room, and so many that a flood of refusals in every turn does not starve who was let in. Four starved them.
 */
const startsPerTurn = 32

function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = []
  let started = 0
  const next = (): void => {
    const starting = waiting.splice(0, startsPerTurn)
    started = starting.length
    if (started > 0) setImmediate(next)
    for (const start of starting) start()
  }
  return () => {
    if (started >= startsPerTurn) return new Promise((resolve) => waiting.push(resolve))
    if (started === 0) setImmediate(next)
    started += 1
    return Promise.resolve()
  }
}
