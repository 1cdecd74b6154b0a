/** The builder as a process of its own that the service starts and keeps alive: a build never holds up a request. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

import type { Clock, Log } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

export interface BuilderProcess {
  /** Why the builder is not running; null while it is. */
  readonly problem: () => string | null
  /** Asks for a build soon, after a write. */
  readonly requestBuild: () => void
  /** Stops it and resolves when it has ended. */
  readonly stop: () => Promise<void>
}

interface BuilderDeps {
  /** The builder's entry point. */
  readonly entry: URL
  readonly clock: Clock
  readonly log: Log
  /** Called when the builder has published a generation. */
  readonly onPublished: () => void
}

const firstRestartMs = secondMs
const maxRestartMs = 60 * secondMs
/** Writes that come within this time share one build. */
const debounceMs = 50
/** A builder that ran for this long was well; the next end is a new story. */
const wellAfterMs = 60 * secondMs

/** Starts the builder; starts it again with growing pauses whenever it ends before `stop`. */
export function startBuilder({ entry, clock, log, onPublished }: BuilderDeps): BuilderProcess {
  const stopping = new AbortController()
  let child: ChildProcess | null = null
  let problem: string | null = null
  let isRequested = false
  const ended = keepRunning()

  async function keepRunning(): Promise<void> {
    let pauseMs = firstRestartMs
    while (!stopping.signal.aborted) {
      const startedMs = clock.monotonic()
      const how = await runOnce()
      child = null
      if (stopping.signal.aborted) return
      pauseMs = clock.monotonic() - startedMs > wellAfterMs ? firstRestartMs : pauseMs
      problem = `the builder ended (${how}); it starts again in ${pauseMs / secondMs} s`
      log.error('builder ended', { how, restart_in_ms: pauseMs })
      await clock.sleep(pauseMs, stopping.signal).catch(() => undefined)
      pauseMs = Math.min(maxRestartMs, pauseMs * 2)
    }
  }

  async function runOnce(): Promise<string> {
    return await new Promise((resolve) => {
      const started = fork(entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      child = started
      started.on('message', (message) => {
        if (message === 'published') {
          problem = null
          onPublished()
        }
      })
      started.once('error', (error) => resolve(error.message))
      started.once('exit', (code, signal) => resolve(signal ?? `exit code ${code ?? 'unknown'}`))
    })
  }

  /** Requests that arrive during the delay share one build. */
  async function askForBuild(): Promise<void> {
    await clock.sleep(debounceMs, stopping.signal).catch(() => undefined)
    isRequested = false
    if (!stopping.signal.aborted && child?.connected === true) child.send('build', () => undefined)
  }

  return {
    problem: () => problem,
    requestBuild: () => {
      if (isRequested) return
      isRequested = true
      void askForBuild()
    },
    stop: async () => {
      stopping.abort()
      child?.kill('SIGTERM')
      await ended
    },
  }
}
