/** One builder works at a time. Others wait in standby; one of them takes over when the lease of the first has expired. */
import { repeatEvery } from '../../src/core/concurrency.ts'
import type { Clock, Log } from '../../src/core/deps.ts'
import { redact } from '../../src/core/redact.ts'
import { secondMs } from '../../src/core/time.ts'
import { createHolder } from '../../src/db/holder.ts'
import { LeaseLostError, releaseLease, requireLease, takeLease } from '../../src/db/leases.ts'
import type { OpenDatabase } from '../../src/db/open.ts'

/** A standby builds at most twice this time after the leader has ended or was paused. */
const ttlMs = 15 * secondMs

/** Returns null while another builder works. */
export async function tryLeadership(database: OpenDatabase, holder: string) {
  const wanted = { name: 'builder', holder, ttlMs }
  const fence = await database.write((tx) => takeLease(tx, wanted))
  if (fence === null) return null
  const lease = { ...wanted, fence }
  const write: OpenDatabase['write'] = async (work) =>
    await database.write(async (tx) => {
      await requireLease(tx, lease)
      return await work(tx)
    })
  return {
    lease,
    /** Its writes store nothing after another builder has taken the lease. */
    database: { ...database, write },
    check: async () => await requireLease(database.reader, lease),
    renew: async () => void (await write((tx) => takeLease(tx, wanted))),
    release: async () => await database.write((tx) => releaseLease(tx, lease)),
  }
}

export type Leadership = NonNullable<Awaited<ReturnType<typeof lead>>>

/** Waits until no other builder works. Returns null when the signal aborts, or without `onStandby` instead of waiting. */
export async function lead(deps: {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly onStandby: (() => void) | null
  readonly onLost: (error: LeaseLostError) => void
}) {
  const { database, clock, log, signal, onStandby, onLost } = deps
  const holder = createHolder()
  // An unavailable database does not end the leadership.
  const onError = (error: unknown) => {
    log.warn('the lease was not taken or renewed', { reason: redact(String(error)) })
    if (error instanceof LeaseLostError) onLost(error)
    return null
  }
  let leadership = await tryLeadership(database, holder).catch(onError)
  if (leadership === null) {
    log.info('standing by')
    onStandby?.()
  }
  while (leadership === null) {
    if (onStandby === null || signal.aborted) return null
    await clock.sleep(ttlMs / 3, signal).catch(() => undefined)
    leadership = await tryLeadership(database, holder).catch(onError)
  }
  const { renew, release, lease } = leadership
  log.info('the builder leads', { fence: lease.fence })
  const released = new AbortController()
  const renewing = repeatEvery(ttlMs / 3, async () => void (await renew().catch(onError)), {
    clock,
    signal: released.signal,
  })
  return {
    ...leadership,
    release: async () => {
      released.abort()
      await renewing
      return await release().catch(() => false)
    },
  }
}
