/** A disk that is full from a certain write on, for what runs in this very process. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Lets `room` more synchronous writes and links succeed; all others fail with ENOSPC. */
export function fillDisk(room: number): { readonly empty: () => void } {
  const { writeFileSync, linkSync } = fs
  let left = room
  const limited =
    (act: typeof writeFileSync | typeof linkSync) =>
    (...given: readonly unknown[]): unknown => {
      left -= 1
      if (left < 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return Reflect.apply(act, fs, given)
    }
  const put = (functions: object): void => {
    Object.assign(fs, functions)
    syncBuiltinESMExports()
  }
  put({ writeFileSync: limited(writeFileSync), linkSync: limited(linkSync) })
  return { empty: () => put({ writeFileSync, linkSync }) }
}
