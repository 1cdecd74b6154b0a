/**
 * Loaded before the program with `--import`: the clock stands at `TEST_CLOCK_MS`, and waits pass `TEST_CLOCK_SPEED`
 * times as fast, so that a time-out is a time-out without the waiting.
 */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const nowMs = Number(process.env['TEST_CLOCK_MS'])
const speed = Number(process.env['TEST_CLOCK_SPEED'] ?? '1')
const wait = timers.setTimeout

Date.now = () => nowMs
timers.setTimeout = async (delayMs = 0, value, options) =>
  await wait(delayMs / speed, value, options)
syncBuiltinESMExports()
