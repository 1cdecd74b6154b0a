import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Lets `room` more synchronous writes and links succeed; later ones fail with ENOSPC. */
export function fillDisk(room: number): { readonly empty: () => void } {
  const { writeFileSync, linkSync } = fs
  let left = room
  const limited =
    (act: typeof writeFileSync | typeof linkSync) =>
    (...args: readonly unknown[]): unknown => {
      left -= 1
      if (left < 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      return Reflect.apply(act, fs, args)
    }
  const put = (functions: object): void => {
    Object.assign(fs, functions)
    syncBuiltinESMExports()
  }
  put({ writeFileSync: limited(writeFileSync), linkSync: limited(linkSync) })
  return { empty: () => put({ writeFileSync, linkSync }) }
}
