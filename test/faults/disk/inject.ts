/** Makes system calls of a running process fail, or slows them down, with strace. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { leavesNothingOut } from '../../support/runnable.ts'

export interface Fault {
  /** System calls, as strace names them. */
  readonly calls: string
  /** The effect, such as `error=EIO` or `delay_enter=200000` (microseconds). */
  readonly does: string
  /** Absolute paths of the files whose calls are affected; by default all calls. */
  readonly paths?: readonly string[]
}

export interface Injection {
  /** Ends the fault: later calls succeed again. Returns the number of affected calls. */
  readonly heal: () => Promise<number>
}

/** The reason why strace cannot inject faults here, or null. */
export const noInjection: string | null = leavesNothingOut ? null : await reasonAgainst()

async function reasonAgainst(): Promise<string | null> {
  const sleeper = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    stdio: 'ignore',
  })
  try {
    await once(sleeper, 'spawn')
    const fault = await inject(sleeper.pid ?? -1, { calls: 'fsync', does: 'error=EIO' })
    await fault.heal()
    return null
  } catch (error) {
    return String(error)
  } finally {
    sleeper.kill('SIGKILL')
  }
}

/** Resolves when strace has attached to the process. */
export async function inject(pid: number, { calls, does, paths = [] }: Fault): Promise<Injection> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-strace-'))
  const record = join(folder, 'record')
  const where = paths.flatMap((path) => ['-P', path])
  const strace = spawn(
    'strace',
    ['-f', '-o', record, '-e', `trace=${calls}`, '-e', `inject=${calls}:${does}`, ...where].concat([
      '-e',
      'signal=none',
      '-p',
      String(pid),
    ]),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const ended = once(strace, 'close')
  let output = ''
  await new Promise<void>((resolve, reject) => {
    strace.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
      if (/Process \d+ attached/.test(output)) resolve()
    })
    ended.then(() => reject(new Error(`strace ended: ${output}`)), reject)
  })
  let injected: number | null = null
  return {
    heal: async () => {
      if (injected !== null) return injected
      strace.kill('SIGINT')
      await ended
      injected = readFileSync(record, 'utf8').match(/\((?:INJECTED|DELAYED)\)/g)?.length ?? 0
      rmSync(folder, { recursive: true, force: true })
      return injected
    },
  }
}
