/**
 * Limits on work in progress. A request beyond its limit is refused at once, for a fraction of what doing it would cost,
 * and no queue grows longer than the patience of its clients.
 *
 * The limits are plain counts, not times in a queue (CoDel): the work per request is about the same, so a bound on the
 * count bounds the time, and it does not depend on a clock that stalls together with the event loop.
 */
import { ApiError } from '../contract/errors.ts'
import { createTickThrottle } from '../core/concurrency.ts'

export const concurrencyLimitNames = ['write', 'read', 'payment', 'chain', 'mail', 'rail'] as const
export type ConcurrencyLimitName = (typeof concurrencyLimitNames)[number]

/**
 * The first three are four times what the database writer needs for its full speed. Purchases wait for a block of the
 * chain and so have their own limit. Writes that wait for an external service (chain node, mail server, rail) take at
 * most half of `write`, so that a stalled service leaves the other half to writes that only need the local disk.
 */
const capacities: Readonly<Record<ConcurrencyLimitName, number>> = {
  write: 256,
  read: 256,
  payment: 256,
  chain: 64,
  mail: 32,
  rail: 32,
}

export interface LimitedWork<Result> {
  /** Receives the request and returns the work. Occupies no place, since a body may be slow. */
  readonly prepare: () => (() => Promise<Result>) | Promise<() => Promise<Result>>
  /** Whether the client has disconnected; checked right before the work. */
  readonly isGone?: () => boolean
  readonly onRefused?: () => void
}

export interface ConcurrencyLimit {
  readonly isFull: () => boolean
  /**
   * Prepares and does the work. Refuses it before it is prepared where the limit is reached, and after that where the
   * last place was taken in the meantime.
   * @throws ApiError `unavailable`
   */
  readonly run: <Result>(work: LimitedWork<Result>) => Promise<Result>
}

export type ConcurrencyLimits = Readonly<Record<ConcurrencyLimitName, ConcurrencyLimit>>

/**
 * Limits on work that waits for an external service: a chain node, a mail server, a rail. Effects that must complete
 * together start inside.
 * @throws ApiError `unavailable` where the limit is reached; nothing was started
 */
export type OutboundConcurrency = Readonly<
  Record<'chain' | 'mail' | 'rail', <Result>(work: () => Promise<Result>) => Promise<Result>>
>

const reasons: Readonly<Record<ConcurrencyLimitName, string>> = {
  write: 'Too many writes are in progress',
  read: 'Too many requests are in progress',
  payment: 'Too many payments are in progress',
  chain: 'Too many signatures are waiting for the chain node that checks contract wallets',
  mail: 'Too many e-mails are being sent',
  rail: 'Too many applications are being forwarded',
}

/**
 * Requests that may start in one tick of the event loop: few enough that libuv, which accepts one connection in a tick,
 * keeps up with new ones; enough that a flood of refusals in every tick does not starve admitted requests (4 did).
 */
const startsPerTick = 32

/** The limits of one process. `onShed` is called for each refused request. */
export function createConcurrencyLimits(
  onShed: (limit: ConcurrencyLimitName) => void = () => undefined,
): ConcurrencyLimits {
  const nextStart = createTickThrottle(startsPerTick, (next) => setImmediate(next))
  const inRequest = (): Promise<void> => Promise.resolve()
  const create = (name: ConcurrencyLimitName, start: () => Promise<void>): ConcurrencyLimit =>
    createConcurrencyLimit(name, start, onShed)
  return {
    write: create('write', nextStart),
    read: create('read', nextStart),
    payment: create('payment', nextStart),
    // Taken by requests that have started already.
    chain: create('chain', inRequest),
    mail: create('mail', inRequest),
    rail: create('rail', inRequest),
  }
}

export function outboundLimitsOf({ chain, mail, rail }: ConcurrencyLimits): OutboundConcurrency {
  return {
    chain: (work) => chain.run({ prepare: () => work }),
    mail: (work) => mail.run({ prepare: () => work }),
    rail: (work) => rail.run({ prepare: () => work }),
  }
}

function createConcurrencyLimit(
  name: ConcurrencyLimitName,
  start: () => Promise<void>,
  onShed: (limit: ConcurrencyLimitName) => void,
): ConcurrencyLimit {
  let active = 0
  let refused = 0
  const isFull = (): boolean => active >= capacities[name]
  const requirePlace = (onRefused: (() => void) | undefined): void => {
    if (!isFull()) return
    refused += 1
    onShed(name)
    onRefused?.()
    // Spreads the retries over three seconds.
    const headers = { 'Retry-After': String(1 + (refused % 3)) }
    throw new ApiError('unavailable', `${reasons[name]}; nothing was done`, { headers })
  }
  return {
    isFull,
    async run({ prepare, isGone = () => false, onRefused }) {
      requirePlace(onRefused)
      const work = await prepare()
      requirePlace(onRefused)
      active += 1
      try {
        await start()
        if (isGone()) throw new ApiError('malformed_request', 'The connection has ended')
        return await work()
      } finally {
        active -= 1
      }
    },
  }
}
