/** Assigns indexes to log entries and publishes them. */
import type { NoteSigner } from '../../src/auth/notes.ts'
import { createSerialQueue } from '../../src/core/concurrency.ts'
import type { Clock, Log } from '../../src/core/deps.ts'
import { createTimeLowWatermark } from '../../src/core/low-watermark.ts'
import { hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { findCheckpoint, lastVersion, putCheckpoint, queuedEntries } from '../../src/db/log.ts'
import type { StoredCheckpoint } from '../../src/db/log.ts'
import { lastRuns } from '../../src/db/runs.ts'
import type { PublicFiles } from '../publish/store/store.ts'
import { publishCheckpoint, publishLog } from './publish.ts'
import type { PublishLogDeps } from './publish.ts'
import { isEndAccepted, requireEnd, restoreLog } from './restore.ts'
import type { AskSizes } from './restore.ts'
import { batch, lastTime, sequence } from './sequence.ts'

export interface LedgerLogDeps extends PublishLogDeps {
  readonly files: PublicFiles
  readonly signer: NoteSigner
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Log
  readonly askSizes: AskSizes
}

export type LedgerLog = ReturnType<typeof createLedgerLog>

/** After a longer pause, the clock is not trusted at once. A running builder logs a set at least once a day. */
const maxPauseMs = 25 * hourMs
/** Pause after a failure, which only the operator or another server can fix. */
const restMs = minuteMs / 2

export function createLedgerLog(deps: LedgerLogDeps) {
  const { database, files, signer, clock, log } = deps
  const inTurn = createSerialQueue()
  /** The size that readers see; undefined before the database was compared with the published log. */
  let seen: number | null | undefined
  let restUntilMs = -Infinity
  let conflicts: readonly string[] = []
  const lowWatermark = createTimeLowWatermark(clock)
  /** How far the trusted wall clock is ahead of the monotonic one; undefined at first. */
  let offsetMs: number | undefined

  /** Returns the time. A jump ahead is trusted after ten minutes; the operator may vouch for a start. @throws Error until then */
  async function requireSteadyClock(): Promise<number> {
    const lowMs = lowWatermark()
    const [nowMs, monotonicMs] = [clock.now(), clock.monotonic()]
    const isStart = offsetMs === undefined
    const signed = isStart ? await findCheckpoint(database.reader, 'signed') : null
    const last = await lastTime(database.reader, signed?.size ?? 0)
    const expectedMs =
      last === null ? monotonicMs + (offsetMs ?? nowMs - monotonicMs) : Date.parse(last)
    // A restart must not trust a clock that the builder before it has refused.
    const hadFailed = isStart && (await lastRuns(database.reader)).get('log')?.outcome === 'failed'
    const isAhead = nowMs - expectedMs > (isStart && !hadFailed ? maxPauseMs : hourMs)
    const isTrusted = lowMs !== null && lowMs > expectedMs
    if (isAhead && !isTrusted && !(isStart && (await isEndAccepted(database)))) {
      const accept = `agent-income-ledger admin log accept ${signer.key.name} ${signed?.size ?? 0}`
      throw new Error(
        `the clock jumped from ${isoTime(expectedMs)} to ${isoTime(nowMs)}, or the ${isStart ? 'builder was off' : 'machine was suspended'}; ` +
          `nothing is logged or published until a running builder has seen it steady for ten minutes${isStart ? `, or you accept the end of the log: ${accept}` : ''}`,
      )
    }
    // A clock that was set back may later return to the old time.
    offsetMs = Math.max(offsetMs ?? -Infinity, nowMs - monotonicMs)
    return nowMs
  }

  async function grow(): Promise<boolean> {
    // The database may lose entries meanwhile, by a failover to a lagging replica.
    let signed = await findCheckpoint(database.reader, 'signed')
    if ((signed?.size ?? 0) < (seen ?? 0)) seen = undefined
    if (seen === undefined) {
      const { restored, ...found } = await restoreLog(database, files, signer.key)
      if (restored > 0) log.warn('the database lacked entries of the published log', { restored })
      await requireEnd(database, found.seen !== null, deps)
      seen = found.seen
      signed = await findCheckpoint(database.reader, 'signed')
    }
    await requireSteadyClock()
    const before = seen
    conflicts = []
    seen = await publishLog(deps, seen, signed)
    if ((await queuedEntries(database.reader, 1)).length === 0) return seen !== before
    // A batch that is not full ends the run: under load the queue is never empty, and witnesses would wait.
    for (let [taken, after] = [batch, 0]; taken === batch;) {
      const nowMs = await requireSteadyClock()
      const done = await database.write((tx) => sequence(tx, signer, nowMs, after))
      seen = await publishLog(deps, seen, done.signed)
      conflicts = [...conflicts, ...done.conflicts]
      taken = done.taken
      after = done.last
    }
    return true
  }

  async function run() {
    if (clock.monotonic() < restUntilMs) return 'resting'
    let isGrown
    try {
      isGrown = await grow()
    } catch (error) {
      restUntilMs = clock.monotonic() + restMs
      throw error
    }
    const [first] = conflicts
    if (first === undefined) return isGrown ? 'grown' : 'unchanged'
    throw new Error(
      `the log contains ${first} with different content; such rows in log_queue: ${conflicts.length} (see admin log drop)`,
    )
  }

  return {
    /**
     * `resting`: pausing after a failure. @throws ForkedLogError, NoteError; then nothing is signed.
     * @throws Error if the log has other versions of queued entries; the other entries are published
     */
    grow: async () => await inTurn(run),
    /** The highest manifest version in the log. @throws Error before the log was compared with the published one */
    lastVersion: async () =>
      await inTurn(async () => {
        if (seen === undefined) await run()
        if (seen === undefined) throw new Error('nothing is published before the job log succeeds')
        await requireSteadyClock()
        return await lastVersion(database.reader)
      }),
    isCompared: () => seen !== undefined,
    /** Stores a checkpoint that the quorum has signed for proofs, and publishes it unless there is a newer one. */
    cosign: async (
      { size, note }: Omit<StoredCheckpoint, 'name'>,
      lines: readonly string[],
      isWitnessed: boolean,
    ) =>
      await inTurn(async () => {
        const cosigned = { size, note: `${note}${lines.join('\n')}\n` }
        if (isWitnessed) {
          await database.write((tx) => putCheckpoint(tx, 'witnessed', cosigned))
        }
        const published = await findCheckpoint(database.reader, 'published')
        if (published?.note === note) await publishCheckpoint(deps, cosigned)
      }),
  }
}
