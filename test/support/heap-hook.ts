/** Loaded before the program with `--import`: on SIGUSR2 collects garbage, and says how much is held then. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// The flag counts for contexts that are made after it, and may stand in NODE_OPTIONS for some versions of Node only.
setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

process.on('SIGUSR2', () => {
  if (typeof collect !== 'function') throw new Error('there is no collector to call')
  Reflect.apply(collect, undefined, [])
  const { heapUsed, external } = process.memoryUsage()
  process.stdout.write(`held after a collection: ${heapUsed + external}\n`)
})
