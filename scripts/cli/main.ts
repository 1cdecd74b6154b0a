#!/usr/bin/env node
/** The command line: `npx agent-income-ledger <command>`. */
import { systemClock, systemRandom } from '../../src/runtime.ts'
import { commands } from './commands.ts'
import { run } from './run.ts'

process.exitCode = await run(commands, process.argv.slice(2), {
  environment: process.env,
  clock: systemClock,
  random: systemRandom,
  fetch,
  write: (text) => process.stdout.write(text),
  warn: (text) => process.stderr.write(text),
})
