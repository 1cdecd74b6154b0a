/** libfaketime around a program: its clock on the wall jumps while it runs, its steady clock goes on. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const libraries = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
)
const library = libraries.find((path) => existsSync(path))

/** Why no clock can be moved here, or null where it can. */
export const noFakedClock: string | null =
  library === undefined ? 'libfaketime is not installed' : null

export interface FakedClock {
  readonly env: Readonly<Record<string, string>>
  /** From now on the clock of every process is off by so much. */
  readonly jumpTo: (offsetMs: number) => void
  /** What the processes take for now, Unix milliseconds. */
  readonly now: () => number
}

export function fakedClock(folder: string): FakedClock {
  const file = join(folder, 'clock')
  let offsetMs = 0
  const jumpTo = (nextMs: number): void => {
    offsetMs = nextMs
    writeFileSync(file, `${nextMs < 0 ? '' : '+'}${nextMs / 1000}\n`)
  }
  jumpTo(0)
  return {
    env: {
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    jumpTo,
    now: () => Date.now() + offsetMs,
  }
}
