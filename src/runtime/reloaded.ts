/** Reloads files that operators edit while the service runs. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { createSerialQueue, repeatEvery } from '../core/concurrency.ts'
import type { Clock, Log } from '../core/deps.ts'
import { redact, withoutDirectories } from '../core/redact.ts'
import { secondMs } from '../core/time.ts'

export interface Reloaded<Value> {
  readonly current: () => Value
  /** The reason why the current files are not used; null if they are. */
  readonly problem: () => string | null
  /** Reads changed files; on errors logs each reason once and keeps the last valid value. Never throws. */
  readonly reload: () => Promise<void>
  readonly watch: (signal: AbortSignal) => Promise<void>
}

const lookEveryMs = 5 * secondMs

/** @throws the errors of the first `load` */
export async function loadReloaded<Value>(
  source: {
    /** For messages, such as `the registries under data/`. */
    readonly name: string
    readonly paths: readonly string[]
    readonly load: () => Promise<Value>
  },
  { clock, log }: { readonly clock: Pick<Clock, 'sleep'>; readonly log: Log },
): Promise<Reloaded<Value>> {
  const { name, paths, load } = source
  let seen = await markOf(paths)
  let value = await load()
  let problem: string | null = null
  const inOrder = createSerialQueue()

  const look = async (): Promise<void> => {
    const mark = await markOf(paths)
    if (mark === seen && problem === null) return
    // Assigned before the read, so that changes during the read are detected.
    seen = mark
    try {
      value = await load()
      problem = null
      log.info('reloaded', { what: name })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const message = redact(
        withoutDirectories(
          `${name} cannot be used; the previous version remains in use: ${reason}`,
        ),
      )
      if (message !== problem) log.error('could not be reloaded', { what: name, error: message })
      problem = message
    }
  }

  const reload = (): Promise<void> => inOrder(look)
  return {
    current: () => value,
    problem: () => problem,
    reload,
    watch: (signal) => repeatEvery(lookEveryMs, reload, { clock, signal }),
  }
}

/** Fingerprint of the files; missing files are included. */
async function markOf(paths: readonly string[]): Promise<string> {
  const marks: string[] = []
  for (const path of paths) {
    const found = await stat(path).catch(() => null)
    if (found?.isDirectory() === true) {
      const names = (await readdir(path)).sort()
      for (const name of names) marks.push(`${name} ${await fileMark(join(path, name))}`)
    } else {
      marks.push(await fileMark(path))
    }
  }
  return marks.join('\n')
}

async function fileMark(path: string): Promise<string> {
  const found = await stat(path).catch(() => null)
  return found === null ? 'missing' : `${found.ino} ${found.mtimeMs} ${found.size}`
}
