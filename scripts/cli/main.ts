#!/usr/bin/env node
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { commands } from './commands.ts'
import { run } from './run.ts'

// The reader of the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

process.exitCode = await run(commands, process.argv.slice(2), {
  environment: process.env,
  clock: systemClock,
  random: systemRandom,
  fetch,
  write: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
})
