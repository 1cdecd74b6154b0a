/** The entry of the builder: runs the jobs on their schedule, or with `--once` each of them once. */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'

import { openLedgerKeys } from '../src/runtime/keys.ts'
import { configOrExit, exitOnStartError, startRuntime } from '../src/runtime/runtime.ts'
import { lead } from './jobs/leadership.ts'
import { backfillLines, railProgress } from './jobs/progress.ts'
import { createReporter } from './jobs/report.ts'
import { runForever, runOnce } from './jobs/schedule.ts'
import { loadAdapters, openBuilderDatabase, openJobs, openLog, openSetStore } from './parts.ts'

// Collects garbage when the heap has grown by 60 % instead of up to 300 %: a sixth less memory at the peak, and no measurable time.
setFlagsFromString('--heap-growing-percent=60')

const { values: flags } = parseArgs({
  options: { once: { type: 'boolean', default: false }, move: { type: 'boolean', default: false } },
})
const config = configOrExit()
const runtime = startRuntime(config)
const { clock, log, stopped } = runtime
const opened = await openBuilderDatabase(config, runtime)
const keys = await openLedgerKeys(config, opened, runtime).catch(exitOnStartError)
if (!flags.once) endWithService()

const leadership = await lead({
  database: opened,
  clock,
  log,
  signal: stopped,
  onStandby: flags.once ? null : () => void process.send?.('standing by', () => undefined),
  onLost: runtime.fail,
})
if (leadership === null) {
  if (flags.once) process.stderr.write('Nothing was done: another builder works on this ledger.\n')
  await opened.close()
  process.exit(flags.once ? 1 : 0)
}
const { database, check } = leadership
const parts = { database, keys, store: openSetStore(config, runtime, leadership) }
const reporter = createReporter({
  dataDir: config.DATA_DIR,
  clock,
  log,
  process: runtime.startReadings(),
})
const adapters = await loadAdapters(config)
const { jobs, webhooks } = openJobs(config, runtime, {
  adapters,
  ...parts,
  ...openLog(config, runtime, parts),
  check,
  onRun: reporter.onRun,
  onBackfill: flags.once
    ? backfillLines(process.stdout)
    : ({ rail, percent, text }) => log.info(`reading ${rail}: ${text}`, { rail, percent }),
  // A disconnected service must not abort a build.
  onPublished: () => void process.send?.('published', undefined, undefined, () => undefined),
  move: flags.once && flags.move,
})

const polls = config.POLL === 'on'
if (flags.once) {
  const onReport = railProgress(process.stdout, adapters.length)
  process.exitCode = (await runOnce(jobs, { polls, onReport })) ? 0 : 1
} else {
  const reporting = reporter.reportEvery(stopped)
  const onRequest = (build: () => void) => void process.on('message', build)
  await runForever(jobs, { clock, log, signal: stopped, polls, onRequest })
  await reporting
  if (process.connected) process.disconnect()
}
await webhooks.settled()
await leadership.release()
await database.close()
if (runtime.failed.aborted) process.exitCode = 1
log.flush()

/** Exits with the service, even if it exited before this process was ready. */
function endWithService(): void {
  // A second SIGTERM would end the process at once, in the middle of its shutdown.
  const end = () => void (stopped.aborted || process.kill(process.pid, 'SIGTERM'))
  process.once('disconnect', end)
  if (process.send !== undefined && !process.connected) end()
}
