/**
 * Loaded with `--import` before a program and the processes that it starts: on SIGUSR2 collects garbage, and says how much
 * the process holds then.
 */
import { createCollector } from './collect.ts'

const collect = createCollector()

process.on('SIGUSR2', () => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  process.stdout.write(`held by ${process.pid} after a collection: ${heapUsed + external}\n`)
})
