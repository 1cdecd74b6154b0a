/** What people change in files while the service runs: taken anew when they change, if it can be used. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { createSerialQueue } from '../core/concurrency.ts'
import type { Clock, Log } from '../core/deps.ts'
import { redact, withoutDirectories } from '../core/redact.ts'
import { secondMs } from '../core/time.ts'

export interface Reloaded<Value> {
  /** As it was last read without a fault. */
  readonly current: () => Value
  /** Why what lies there now is not taken; null where it is. */
  readonly problem: () => string | null
  /**
   * Reads anew where the files have changed or the last read failed. Never throws: what cannot be used is logged,
   * once for each reason, and the old stays.
   */
  readonly reload: () => Promise<void>
  readonly watch: (signal: AbortSignal) => Promise<void>
}

const lookEveryMs = 5 * secondMs

/**
 * Reads for the first time. `paths` are files, or folders whose files count.
 * @throws what `load` throws: there is nothing yet to go on with.
 */
export async function loadReloaded<Value>(
  source: {
    /** For people: `the registries under data/`. */
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
    // Before the read: what changes while it is read is read again.
    seen = mark
    try {
      value = await load()
      problem = null
      log.info('read anew', { what: name })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const told = redact(withoutDirectories(`${name} cannot be used, the old stays: ${reason}`))
      if (told !== problem) log.error('not read anew', { what: name, error: told })
      problem = told
    }
  }

  const reload = (): Promise<void> => inOrder(look)
  return {
    current: () => value,
    problem: () => problem,
    reload,
    async watch(signal) {
      while (!signal.aborted) {
        await clock.sleep(lookEveryMs, signal).catch(() => undefined)
        if (!signal.aborted) await reload()
      }
    },
  }
}

/** Tells one state of the files from another. A file that is missing is a state too. */
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
