import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns a function that collects all garbage. */
export function createCollector(): () => void {
  // The flag applies to contexts created later; some versions of Node refuse it in NODE_OPTIONS.
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  return () => {
    if (typeof collect !== 'function') throw new Error('there is no collector to call')
    Reflect.apply(collect, undefined, [])
  }
}
