/** A file system of a few megabytes in memory, which a test can fill. */
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { isErrno } from '../../../src/core/errno.ts'
import { leavesNothingOut } from '../../support/runnable.ts'

export interface SmallDisk {
  readonly dir: string
  /** Fills the file system except for this number of bytes. */
  readonly fill: (leftBytes: number) => void
  /** Frees the filled space. */
  readonly free: () => void
  readonly remove: () => void
}

/** The reason why no file system can be mounted here, or null. */
export const noMount: string | null = (() => {
  if (leavesNothingOut) return null
  const dir = mkdtempSync(join(tmpdir(), 'ledger-mount-'))
  try {
    const tried = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir], {
      encoding: 'utf8',
    })
    if (tried.error !== undefined) return tried.error.message
    if (tried.status !== 0) return tried.stderr.trim()
    execFileSync('umount', [dir])
    return null
  } finally {
    rmSync(dir, { recursive: true })
  }
})()

const blockBytes = 4096

export function mountSmallDisk(size: `${number}m`): SmallDisk {
  const dir = mkdtempSync(join(tmpdir(), 'ledger-mount-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir])
  const ballast = [join(dir, 'ballast'), join(dir, 'reserve')] as const
  return {
    dir,
    fill: (leftBytes) => {
      write(ballast[1], leftBytes)
      write(ballast[0], Infinity)
      rmSync(ballast[1])
    },
    free: () => ballast.forEach((path) => rmSync(path, { force: true })),
    remove: () => {
      execFileSync('umount', ['-l', dir])
      rmSync(dir, { recursive: true })
    },
  }
}

function write(path: string, bytes: number): void {
  const file = openSync(path, 'w')
  try {
    for (let at = 0; at < bytes; at += blockBytes) writeSync(file, Buffer.alloc(blockBytes))
  } catch (error) {
    if (!isErrno(error, 'ENOSPC')) throw error
  } finally {
    closeSync(file)
  }
}
