import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, now. */
export function createCollector(): () => void {
  // The flag counts for contexts that are made after it, and may stand in NODE_OPTIONS for some versions of Node only.
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  return () => {
    if (typeof collect !== 'function') throw new Error('there is no collector to call')
    Reflect.apply(collect, undefined, [])
  }
}
