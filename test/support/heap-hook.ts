/** Loaded with `--import`: on SIGUSR2 the process collects garbage and prints how many bytes it still uses. */
import { createCollector } from './collect.ts'

const collect = createCollector()

process.on('SIGUSR2', () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  process.stdout.write(`heap of ${process.pid} after a collection: ${heapUsed + external}\n`)
})
