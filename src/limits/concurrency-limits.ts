/** Limits on concurrent work. They count, since queueing times (CoDel) are wrong while the event loop stalls. */
import { ApiError } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { createSemaphore, createTickThrottle } from '../core/concurrency.ts'
import type { Semaphore } from '../core/concurrency.ts'
import { entriesOf, recordOf } from '../core/entries.ts'

/**
 * `chain`, `mail` and `rail` together use half of the capacity of `write`, so that stalled external services do not block
 * local writes.
 */
const limits = {
  write: [256, 'Too many writes are in progress'],
  read: [256, 'Too many requests are in progress'],
  payment: [256, 'Too many payments are in progress'],
  chain: [64, 'Too many signatures are waiting for the chain node that checks contract wallets'],
  mail: [32, 'Too many e-mails are being sent'],
  rail: [32, 'Too many requests to other sites are in progress'],
} as const satisfies Record<string, readonly [capacity: number, reason: string]>
export type ConcurrencyLimitName = keyof typeof limits
export const concurrencyLimitNames = entriesOf(limits).map(([name]) => name)

/** Concurrent writes, or reads, of one network. Requests of others wait for at most this many at each step. */
const runningPerNetwork = 2

/**
 * The pause after a write or read of a network, as a multiple of its time, so that a network has one in progress about half
 * of the time. It is short for a request that waited for a third party.
 */
const pauseFactor = 3
const longestPauseMs = 150

export interface ConcurrencyLimit {
  /** Also true if the network uses half of the capacity. */
  readonly isFull: (network?: number | null) => boolean
  readonly refusal: () => Failure
  /**
   * Skips the work if `isGone` returns true: the client has disconnected.
   * @throws ApiError `unavailable` if the limit is reached
   */
  readonly run: <Result>(
    work: () => Promise<Result>,
    network?: number | null,
    isGone?: () => boolean,
  ) => Promise<Result>
}

export type ConcurrencyLimits = Readonly<Record<ConcurrencyLimitName, ConcurrencyLimit>>

/** Limits on work that waits for third parties. */
const outbound = ['chain', 'mail', 'rail'] as const
export type OutboundConcurrency = Pick<ConcurrencyLimits, (typeof outbound)[number]>

/**
 * libuv accepts one connection per tick. More starts would delay new connections; fewer would delay admitted requests
 * during a flood.
 */
const startsPerTick = 32

export function createConcurrencyLimits(
  onShed: (limit: ConcurrencyLimitName) => void = () => undefined,
): ConcurrencyLimits {
  const throttle = createTickThrottle(startsPerTick, (next) => setImmediate(next))
  const nextStart = () => throttle(0)
  return recordOf(concurrencyLimitNames, (name) => {
    const isOutbound = outbound.some((one) => one === name)
    return createConcurrencyLimit(name, isOutbound ? () => Promise.resolve() : nextStart, onShed)
  })
}

function createConcurrencyLimit(
  name: ConcurrencyLimitName,
  start: () => Promise<void>,
  onShed: (limit: ConcurrencyLimitName) => void,
): ConcurrencyLimit {
  const [capacity, reason] = limits[name]
  // Signatures, e-mails and requests to sites are parts of requests. Payments would delay each other.
  const hasTurns = name === 'write' || name === 'read'
  const running = hasTurns ? runningPerNetwork : capacity
  let active = 0
  let refused = 0
  const shares = new Map<number, { held: number; readonly turns: Semaphore }>()
  const isFull: ConcurrencyLimit['isFull'] = (network = null) => {
    const held = network === null ? 0 : (shares.get(network)?.held ?? 0)
    return active >= capacity || held >= capacity / 2
  }
  /** Runs some of the requests of one network at a time; the others wait. */
  const inShare = async <Result>(
    network: number | null,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    if (network === null) return await work()
    const share = shares.get(network) ?? { held: 0, turns: createSemaphore(running) }
    shares.set(network, share)
    share.held += 1
    const end = (): void => {
      share.turns.release()
      share.held -= 1
      if (share.held === 0) shares.delete(network)
    }
    await share.turns.acquire()
    const startedMs = performance.now()
    try {
      return await work()
    } finally {
      const pauseMs = Math.min((performance.now() - startedMs) * pauseFactor, longestPauseMs)
      if (hasTurns) setTimeout(end, pauseMs).unref()
      else end()
    }
  }
  const refusal = () => {
    refused += 1
    onShed(name)
    return {
      code: 'unavailable',
      details: `${reason}; nothing was done`,
      headers: { 'Retry-After': String(1 + (refused % 3)) },
    } as const
  }
  return {
    isFull,
    refusal,
    async run(work, network = null, isGone = () => false) {
      if (isFull(network)) {
        const { code, details, headers } = refusal()
        throw new ApiError(code, details, { headers })
      }
      active += 1
      try {
        return await inShare(network, async () => {
          await start()
          if (isGone()) throw new ApiError('malformed_request', 'The connection has ended')
          return await work()
        })
      } finally {
        active -= 1
      }
    },
  }
}
