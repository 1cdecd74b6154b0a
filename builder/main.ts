/** The entry of the builder: cron, or `--once` for one full round with a line per rail. */
import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { schedule } from 'node-cron'

import { loadExchangeKeys } from '../src/auth/exchange-keys.ts'
import { loadKeyedHash } from '../src/auth/keyed-hash.ts'
import { version } from '../src/contract/version.ts'
import { minuteMs, secondMs } from '../src/core/time.ts'
import { openDatabase } from '../src/db/open.ts'
import { createProcessReadings } from '../src/metrics/process.ts'
import { createPinnedFetch } from '../src/outbound/pinned-fetch.ts'
import { webhookSecret } from '../src/outbound/standard-webhook.ts'
import { outboundUserAgent } from '../src/outbound/user-agent.ts'
import {
  configOrExit,
  exitOnUnusableDatabase,
  packageRoot,
  stopSignal,
  systemClock,
  systemLog,
  systemRandom,
  systemResolve,
  untilAborted,
} from '../src/runtime/runtime.ts'
import { createReceiptChecks } from './jobs/check-receipts.ts'
import { watchForJumps } from './jobs/clock-jumps.ts'
import { createWebhooks } from './jobs/deliver.ts'
import { railProgress } from './jobs/progress.ts'
import { createReporter } from './jobs/report.ts'
import { createWorker } from './jobs/worker.ts'
import { loadKeys, readKeys } from './publish/keys.ts'
import { webAddressOf } from './publish/remote.ts'
import { railAdapters } from './rails/index.ts'
import { createSources } from './rails/sources.ts'
import { userAgentOf } from './sources/http-client.ts'
import { createHistory } from './world/history.ts'

const everyMinute = '* * * * *'
/** Not at the full hour, when everybody asks. */
const everyHour = '7 * * * *'
/** Once an hour, away from the full hour at which everybody asks. */
const everyHourForPacts = '41 * * * *'

const { values: flags } = parseArgs({ options: { once: { type: 'boolean', default: false } } })
const config = configOrExit()
const clock = systemClock
const random = systemRandom
const log = systemLog(config.LOG_LEVEL)
const broken = new AbortController()
const stopped = AbortSignal.any([stopSignal(), broken.signal])
// Each wait for others hears it, of which there are more at once than the ten that Node takes for a leak.
setMaxListeners(0, stopped)
const pollEveryMs = config.POLL_EVERY_MINUTES * minuteMs
const assetsDir = join(packageRoot, 'public')

const keysDir = join(config.DATA_DIR, 'keys')
await loadKeys({ dir: keysDir, nowMs: clock.now() })
const keys = () => readKeys(keysDir)
const exchangeKeys = () => loadExchangeKeys(keysDir, random)
await exchangeKeys()
const database = await openDatabase({
  url: config.DATABASE_URL ?? join(config.DATA_DIR, 'ledger.db'),
  // The service has the right of way: its callers wait for an answer.
  lockPatienceMs: minuteMs,
  checkpoints: config.WAL_CHECKPOINT === 'external' ? 'others' : 'own',
  onBroken: (error) => {
    log.error('the database has failed: the builder ends', { error: String(error) })
    broken.abort(error)
  },
}).catch(exitOnUnusableDatabase)
const keyedHash = await loadKeyedHash(join(config.DATA_DIR, 'secrets'), random)
const rpcUrls = {
  base: config.RPC_URL_BASE,
  ethereum: config.RPC_URL_ETHEREUM,
  arbitrum: config.RPC_URL_ARBITRUM,
  gnosis: config.RPC_URL_GNOSIS,
  solana: config.RPC_URL_SOLANA,
}
const sources = createSources({
  fetch,
  clock,
  random,
  userAgent: userAgentOf(version, config.SITE_URL),
  rpcUrls,
  railBaseUrls: config.railBaseUrls,
})
const reporter = createReporter({
  dataDir: config.DATA_DIR,
  clock,
  log,
  process: createProcessReadings(process, clock.now()),
})
const worker = createWorker({
  onRun: reporter.ran,
  database,
  clock,
  random,
  fetch,
  log,
  sources,
  pollEveryMs,
  hasArbitrumNode: config.RPC_URL_ARBITRUM !== null,
  webhooks: createWebhooks({
    database,
    clock,
    random,
    log,
    send: createPinnedFetch({ resolve: systemResolve }),
    secretOf: (id) => webhookSecret(keyedHash, id),
    userAgent: outboundUserAgent(config.SITE_URL),
    signal: stopped,
  }),
  receipts: createReceiptChecks({ database, clock, random, fetch, rpcUrls, signal: stopped }),
  signal: stopped,
  // A service that is gone meanwhile is told nothing, and is no reason to end in the middle of a build.
  onPublished: () => void process.send?.('published', undefined, undefined, () => undefined),
  buildOptions: {
    database,
    history: createHistory(database.reader),
    dataDir: join(packageRoot, 'data'),
    adapters: railAdapters,
    site: {
      url: config.SITE_URL,
      serviceName: config.SERVICE_NAME,
      version,
      historyUrl: webAddressOf(config.SNAPSHOT_GIT_REMOTE),
      payments: { settlement: config.SETTLEMENT, receiver: config.PAYMENT_RECEIVER },
    },
    pollEveryMs,
    keys,
    exchangeKeys,
    stateDir: config.DATA_DIR,
    publicDir: config.PUBLIC_DIR,
    assetsDir: existsSync(assetsDir) ? assetsDir : null,
    repository: { remote: config.SNAPSHOT_GIT_REMOTE, env: process.env },
    log,
  },
})

if (flags.once) await runOnce()
else await runForever()
await database.close()
if (broken.signal.aborted) process.exitCode = 1
log.flush()

async function runOnce(): Promise<void> {
  const { stdout } = process
  const progress = railProgress(
    { isTTY: stdout.isTTY, write: (text) => stdout.write(text) },
    railAdapters.length,
  )
  const polled = config.POLL === 'off' || (await worker.poll('all', progress))
  // A node out of reach is a run that failed, and no reason to call the round bad: nothing known has changed.
  await worker.pacts()
  const checked = await worker.checkReceipts()
  await worker.expire()
  const built = await worker.build('now')
  const delivered = await worker.deliver()
  process.exitCode = polled && checked && built && delivered ? 0 : 1
}

/** By the steady clock: what is due is read from the rows, and a clock that is set must not hold it up. */
async function deliverEvery(pauseMs: number): Promise<void> {
  while (!stopped.aborted) {
    await worker.deliver().catch((error: unknown) => {
      log.error('webhooks could not be delivered', { error: String(error) })
    })
    await clock.sleep(pauseMs, stopped).catch(() => undefined)
  }
}

/** A builder whose service is gone would never be stopped; it may be gone before this one was ready to hear of it. */
function endWithService(): void {
  // A second signal would end it at once, in the middle of what it puts in order.
  const end = () => void (stopped.aborted || process.kill(process.pid, 'SIGTERM'))
  process.once('disconnect', end)
  if (process.send !== undefined && !process.connected) end()
}

async function runForever(): Promise<void> {
  const build = async () => void (await worker.build('if changed'))
  const expireAndBuild = async () => {
    await worker.expire()
    await build()
  }
  endWithService()
  const reporting = reporter.reportEvery(stopped)
  await worker.build('now')
  const pollDue = async () => {
    await worker.poll('due')
    await build()
  }
  const pactsAndBuild = async () => {
    await worker.pacts()
    await build()
  }
  const delivering = deliverEvery(5 * secondMs)
  let checking: Promise<unknown> = Promise.resolve()
  const checkReceipts = async () => {
    checking = worker.checkReceipts()
    await checking
    await build()
  }
  const options = { noOverlap: true } as const
  const tasks = [
    schedule(everyMinute, expireAndBuild, { ...options, name: 'build' }),
    schedule(everyHour, checkReceipts, { ...options, name: 'receipts' }),
    schedule(everyHourForPacts, pactsAndBuild, { ...options, name: 'pacts' }),
    schedule(everyMinute, worker.tidy, { ...options, name: 'tidy' }),
    ...(config.POLL === 'on' ? [schedule(everyMinute, pollDue, { ...options, name: 'poll' })] : []),
  ]
  const watching = watchForJumps(clock, stopped, (jumpMs) => {
    log.warn('the clock was set', { jump_s: Math.round(jumpMs / secondMs) })
    for (const task of tasks) void Promise.resolve(task.stop()).then(async () => await task.start())
  })
  process.on('message', () => void build())
  const firstPoll = config.POLL === 'on' ? pollDue() : Promise.resolve()
  const checkFirst = async () => {
    await checkReceipts()
    if (!stopped.aborted) await pactsAndBuild()
  }
  const firstCheck = checkFirst()
  await untilAborted(stopped)
  await Promise.all(tasks.map(async (task) => task.destroy()))
  await firstPoll.catch(() => undefined)
  await firstCheck.catch(() => undefined)
  await delivering
  await watching
  await checking.catch(() => undefined)
  await reporting
  if (process.connected) process.disconnect()
}
