import type { Keys } from '../../src/auth/service-keys.ts'
import { createSerialQueue } from '../../src/core/concurrency.ts'
import { redact } from '../../src/core/redact.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { dropRunsBefore, lastRuns } from '../../src/db/runs.ts'
import { collectGarbage } from '../publish/garbage.ts'
import { emptyBuildMemory } from './build-memory.ts'
import { build, buildIfChanged, buildSummary } from './build.ts'
import type { BuildOptions } from './build.ts'
import { runJob } from './run-job.ts'
import type { JobDeps } from './run-job.ts'

export interface BuildQueueDeps extends JobDeps {
  readonly buildOptions: Omit<BuildOptions, 'nowMs' | 'memory' | 'keys' | 'onPublished'> & {
    /** Read for every build, since keys may have been rotated. */
    readonly keys: () => Promise<Keys>
  }
  readonly onPublished: () => void
}

/** Interval of the builds that reuse nothing and read back every published file. */
const fullBuildEveryMs = dayMs
/** Versions between two garbage collections, which also run once an hour. */
const tidiedAfter = 64
const runsKeptMs = 90 * dayMs
/** Limits the delay between a write and its documents to two seconds, even if the ledger is busy. */
const maxRestMs = 500

/** Returns false if the build failed. `if changed` skips an unchanged world and shares a waiting build. */
export function createBuildQueue(
  deps: BuildQueueDeps,
): (when: 'now' | 'if changed') => Promise<boolean> {
  const { database, clock, log, buildOptions, signal, onPublished } = deps
  const { store } = buildOptions
  const inTurn = createSerialQueue()
  let memory = emptyBuildMemory(buildOptions)
  let last = { startedMs: -Infinity, endedMs: -Infinity }
  let fullBuildMs = -Infinity
  let version = 0
  let tidied = { ms: -Infinity, version }
  let waiting: Promise<boolean> | null = null

  async function buildNow(when: 'now' | 'if changed'): Promise<boolean> {
    const startedMs = clock.monotonic()
    const isFull = startedMs - fullBuildMs >= fullBuildEveryMs
    if (isFull) memory = emptyBuildMemory(buildOptions)
    const nowMs = clock.now()
    const isGood = await runJob('build', deps, async () => {
      const keys = await buildOptions.keys()
      const options = { ...buildOptions, keys, nowMs, memory, onPublished }
      const built = await (when === 'now' ? build(options) : buildIfChanged(options))
      if (built === null) return null
      version = built.published.manifest.version
      const detail = buildSummary(built)
      // The first build, and a successful build after a failed one, are recorded even if nothing changed.
      const wasGood = (await lastRuns(database.reader)).get('build')?.outcome === 'ok'
      return { detail, quiet: detail === null && wasGood }
    })
    last = { startedMs, endedMs: clock.monotonic() }
    if (isGood && isFull) {
      fullBuildMs = startedMs
      await database.write((tx) => dropRunsBefore(tx, isoTime(nowMs - runsKeptMs)))
    }
    // Also after a failed build, which may need the space.
    if (startedMs - tidied.ms >= hourMs || version - tidied.version >= tidiedAfter) {
      tidied = { ms: startedMs, version }
      await collectGarbage(store, database, buildOptions.check).catch((error: unknown) =>
        log.warn('old published files are not deleted', { reason: redact(String(error)) }),
      )
    }
    return isGood
  }

  /** Pauses for as long as the last build took, so that builds use at most half of a core during many writes. */
  async function rest(): Promise<void> {
    const tookMs = last.endedMs - last.startedMs
    const restMs = Math.min(maxRestMs, tookMs) - (clock.monotonic() - last.endedMs)
    if (restMs > 0) await clock.sleep(restMs, signal).catch(() => undefined)
  }

  return (when) => {
    if (when === 'if changed' && waiting !== null) return waiting
    const next = inTurn(async () => {
      if (when === 'if changed') await rest()
      if (waiting === next) waiting = null
      return await buildNow(when)
    }).catch((error: unknown) => {
      // An unavailable database must not stop later builds.
      log.error('no build', { reason: redact(String(error)) })
      return false
    })
    waiting = next
    return next
  }
}
