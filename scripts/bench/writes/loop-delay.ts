/** How long the event loop of another process was held up; see `loop-hook`. */
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { scriptPath } from '../processes.ts'

const told = z.object({ looks: z.number(), p99Ms: z.number(), maxMs: z.number() })
export type LoopDelay = Readonly<z.infer<typeof told>>

const PATIENCE_MS = 10_000

/** The environment of a process that is to be watched. */
export function watchedEnv(file: string): Readonly<Record<string, string>> {
  const hook = scriptPath(new URL('loop-hook.js', import.meta.url))
  return { LOOP_DELAY_FILE: file, NODE_OPTIONS: `--import=${hook}` }
}

/** What was measured since the last look; the next measurement begins. */
export async function lookAtLoop(pid: number, file: string): Promise<LoopDelay> {
  const before = existsSync(file) ? lookIn(file).looks : 0
  process.kill(pid, 'SIGUSR2')
  const deadlineMs = performance.now() + PATIENCE_MS
  while (performance.now() < deadlineMs) {
    if (existsSync(file)) {
      const look = lookIn(file)
      if (look.looks > before) return look
    }
    await sleep(5)
  }
  throw new Error(`process ${pid} does not tell of its event loop`)
}

function lookIn(file: string): LoopDelay {
  return told.parse(JSON.parse(readFileSync(file, 'utf8')))
}
