/**
 * Loaded into the service with `--import`: at each SIGUSR2 writes to `LOOP_DELAY_FILE` how long its event loop was held up
 * since the last one, and begins anew.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const file = process.env['LOOP_DELAY_FILE'] ?? ''
const resolutionMs = 1
const delays = monitorEventLoopDelay({ resolution: resolutionMs })
delays.enable()
let looks = 0
process.on('SIGUSR2', () => {
  looks += 1
  // The timer itself takes its resolution.
  const ms = (ns: number) => Math.max(0, ns / 1e6 - resolutionMs)
  const told = { looks, p99Ms: ms(delays.percentile(99)), maxMs: ms(delays.max) }
  writeFileSync(`${file}.new`, JSON.stringify(told))
  renameSync(`${file}.new`, file)
  delays.reset()
})
