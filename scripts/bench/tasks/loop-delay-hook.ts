/**
 * Loaded into the service with `--import`: on SIGUSR2 writes to `LOOP_DELAY_FILE` how long turns of the event loop took since
 * the last signal.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const file = process.env['LOOP_DELAY_FILE'] ?? ''
const resolutionMs = 1
const delays = monitorEventLoopDelay({ resolution: resolutionMs })
delays.enable()
process.on('SIGUSR2', () => {
  // Each measurement includes the resolution of the timer, which is subtracted.
  const ms = (ns: number) => Math.max(0, ns / 1e6 - resolutionMs)
  const figures = { loopP99Ms: ms(delays.percentile(99)), loopMaxMs: ms(delays.max) }
  writeFileSync(`${file}.new`, JSON.stringify(figures))
  renameSync(`${file}.new`, file)
  delays.reset()
})
