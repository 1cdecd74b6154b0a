/** Loaded with `--import`: the time is always `TEST_CLOCK_MS`, and waits are shorter by `TEST_CLOCK_SPEED`. */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const nowMs = Number(process.env['TEST_CLOCK_MS'])
const speed = Number(process.env['TEST_CLOCK_SPEED'] ?? '1')
const wait = timers.setTimeout

Date.now = () => nowMs
timers.setTimeout = async (delayMs = 0, value, options) =>
  await wait(delayMs / speed, value, options)
syncBuiltinESMExports()
