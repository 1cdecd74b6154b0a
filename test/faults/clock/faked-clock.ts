/** Runs a program under libfaketime: its wall clock jumps while its monotonic clock continues. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { minuteMs } from '../../../src/core/time.ts'
import { leavesNothingOut } from '../../support/runnable.ts'

const libraries = ['x86_64', 'aarch64'].map(
  (machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`,
)
const library = libraries.find((path) => existsSync(path))

/** The reason why no clock can be faked here, or null. */
export const noFakedClock: string | null =
  library === undefined && !leavesNothingOut ? 'libfaketime is not installed' : null

/** Time from a jump to the next full minute, at which jobs run. */
const beforeTheMinuteMs = 6000

export interface FakedClock {
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock of every process to this distance from its start, shortly before a full minute. Returns the new time. */
  readonly jumpTo: (aheadMs: number) => number
  readonly now: () => number
}

/** @param startMs the first time of the clock */
export function fakedClock(folder: string, startMs: number): FakedClock {
  if (library === undefined) throw new Error('libfaketime is not installed')
  const file = join(folder, 'clock')
  const startOffsetMs = startMs - Date.now()
  let offsetMs = startOffsetMs
  const set = (nextMs: number): void => {
    offsetMs = nextMs
    writeFileSync(file, `${nextMs < 0 ? '' : '+'}${nextMs / 1000}\n`)
  }
  const now = () => Date.now() + offsetMs
  set(startOffsetMs)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    jumpTo: (aheadMs) => {
      const soonest = Date.now() + startOffsetMs + aheadMs
      const shown = Math.ceil((soonest + beforeTheMinuteMs) / minuteMs) * minuteMs
      set(shown - beforeTheMinuteMs - Date.now())
      return now()
    },
    now,
  }
}
