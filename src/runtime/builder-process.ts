import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

import { z } from 'zod'

import type { Clock, Log } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

export interface BuilderProcess {
  /** Null while the builder runs. */
  readonly problem: () => string | null
  readonly requestBuild: () => void
  /** Resolves when the process has ended. */
  readonly stop: () => Promise<void>
}

interface BuilderDeps {
  readonly entry: URL
  readonly clock: Clock
  readonly log: Log
  readonly onPublished: () => void
}

const firstRestartMs = secondMs
const maxRestartMs = 60 * secondMs
const debounceMs = 50
/** A build ends within seconds; systemd stops the service itself after 30 s. */
const killAfterMs = 15 * secondMs
/** Resets the restart delay after this time. */
const stableAfterMs = 60 * secondMs

const startFailure = z.object({ problem: z.string() })

/** Restarts the builder with exponential backoff until `stop`. */
export function startBuilder({ entry, clock, log, onPublished }: BuilderDeps): BuilderProcess {
  const stopping = new AbortController()
  let child: ChildProcess | null = null
  let problem: string | null = null
  let reason: string | null = null
  let isRequested = false
  const ended = keepRunning()

  async function keepRunning(): Promise<void> {
    let pauseMs = firstRestartMs
    while (!stopping.signal.aborted) {
      const startedMs = clock.monotonic()
      const how = await runOnce()
      child = null
      if (stopping.signal.aborted) return
      pauseMs = clock.monotonic() - startedMs > stableAfterMs ? firstRestartMs : pauseMs
      problem = `the builder exited (${reason ?? how}); it restarts in ${pauseMs / secondMs} s`
      reason = null
      log.error('builder exited', { how, restart_in_ms: pauseMs })
      await clock.sleep(pauseMs, stopping.signal).catch(() => undefined)
      pauseMs = Math.min(maxRestartMs, pauseMs * 2)
    }
  }

  async function runOnce(): Promise<string> {
    return await new Promise((resolve) => {
      // The process inherits the environment, so it needs no `--env-file`; options of Node are passed by NODE_OPTIONS.
      const started = fork(entry, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] })
      child = started
      started.on('message', (message) => {
        const sent = startFailure.safeParse(message)
        if (sent.success) reason = sent.data.problem
        if (message === 'published' || message === 'standing by') problem = null
        if (message === 'published') onPublished()
      })
      started.once('error', (error) => resolve(error.message))
      started.once('exit', (code, signal) => resolve(signal ?? `exit code ${code ?? 'unknown'}`))
    })
  }

  async function sendBuildRequest(): Promise<void> {
    await clock.sleep(debounceMs, stopping.signal).catch(() => undefined)
    isRequested = false
    if (!stopping.signal.aborted && child?.connected === true) child.send('build', () => undefined)
  }

  return {
    problem: () => problem,
    requestBuild: () => {
      if (isRequested) return
      isRequested = true
      void sendBuildRequest()
    },
    stop: async () => {
      stopping.abort()
      child?.kill('SIGTERM')
      const ending = new AbortController()
      const kill = clock.sleep(killAfterMs, ending.signal).then(() => child?.kill('SIGKILL'))
      await ended
      ending.abort()
      await kill.catch(() => undefined)
    },
  }
}
