/** The entry of the builder: runs the jobs on their schedule, or with `--once` each of them once. */
import { setMaxListeners } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { loadExchangeKeys } from '../src/auth/exchange-keys.ts'
import { loadKeyedHash } from '../src/auth/keyed-hash.ts'
import { loadLogSigner } from '../src/auth/notes.ts'
import { loadKeys, readKeys } from '../src/auth/service-keys.ts'
import { chains } from '../src/chain/chains.ts'
import type { ChainName } from '../src/chain/chains.ts'
import { version } from '../src/contract/version.ts'
import { entriesOf } from '../src/core/entries.ts'
import { minuteMs } from '../src/core/time.ts'
import { openDatabase } from '../src/db/open.ts'
import { createProcessReadings } from '../src/metrics/process.ts'
import { createObjectStore } from '../src/outbound/object-store.ts'
import { createPinnedFetch } from '../src/outbound/pinned-fetch.ts'
import { createStrangersResolve } from '../src/outbound/resolve-stranger.ts'
import { webhookSecret } from '../src/outbound/standard-webhook.ts'
import { outboundUserAgent } from '../src/outbound/user-agent.ts'
import { authoredDir } from '../src/runtime/demo.ts'
import {
  configOrExit,
  exitOnUnusableDatabase,
  exitOnUnusableKey,
  keyMakerOf,
  packageRoot,
  stopSignal,
  systemClock,
  systemLog,
  systemRandom,
} from '../src/runtime/runtime.ts'
import { webAddressOf } from './archive/web-address.ts'
import { checkReceipts } from './jobs/check-receipts.ts'
import { createJobs } from './jobs/create-jobs.ts'
import { createWebhooks } from './jobs/deliver.ts'
import { lead } from './jobs/leadership.ts'
import { backfillLines, railProgress } from './jobs/progress.ts'
import { createReporter } from './jobs/report.ts'
import { runForever, runOnce } from './jobs/schedule.ts'
import { createLedgerLog } from './log/log.ts'
import { createAskSizes, createCosigning } from './log/witnesses.ts'
import { createBucket } from './publish/store/bucket.ts'
import { createDirectory } from './publish/store/directory.ts'
import { railAdapters } from './rails/index.ts'
import { createSources } from './rails/sources.ts'
import { createHistory } from './world/history.ts'

const { values: flags } = parseArgs({
  options: { once: { type: 'boolean', default: false }, move: { type: 'boolean', default: false } },
})
const config = configOrExit()
const clock = systemClock
const random = systemRandom
const log = systemLog(config.LOG_LEVEL)
const broken = new AbortController()
const stopped = AbortSignal.any([stopSignal(), broken.signal])
// Many functions listen to this signal, and Node warns of a leak above ten listeners.
setMaxListeners(0, stopped)

const keysDir = join(config.DATA_DIR, 'keys')
const keyMaker = keyMakerOf(config)
const exchangeKeys = () => loadExchangeKeys(keysDir, keyMaker)
await loadKeys({ dir: keysDir, nowMs: clock.now(), keys: config.KEYS }).catch(exitOnUnusableKey)
await exchangeKeys().catch(exitOnUnusableKey)
const secretsDir = join(config.DATA_DIR, 'secrets')
const keyedHash = await loadKeyedHash(secretsDir, keyMaker).catch(exitOnUnusableKey)
const opened = await openDatabase({
  url: config.DATABASE_URL ?? join(config.DATA_DIR, 'ledger.db'),
  // The builder waits longer than the service, whose callers wait for an answer.
  lockPatienceMs: minuteMs,
  checkpoints: config.WAL_CHECKPOINT === 'external' ? 'others' : 'own',
  onBroken: (error) => {
    log.error('the database has failed: stopping the builder', { error: String(error) })
    broken.abort(error)
  },
}).catch(exitOnUnusableDatabase)
if (!flags.once) endWithService()
const leadership = await lead({
  database: opened,
  clock,
  log,
  signal: stopped,
  onStandby: flags.once ? null : () => void process.send?.('standing by', () => undefined),
  onLost: (error) => broken.abort(error),
})
if (leadership === null) {
  if (flags.once) process.stderr.write('Nothing was done: another builder works on this ledger.\n')
  await opened.close()
  process.exit(flags.once ? 1 : 0)
}
const { database } = leadership
const rpcUrls: Partial<Record<ChainName, string | null>> = Object.fromEntries(
  entriesOf(chains).map(([name, { rpcSetting }]) => [name, config[rpcSetting]]),
)
const reporter = createReporter({
  dataDir: config.DATA_DIR,
  clock,
  log,
  process: createProcessReadings(process, clock.now()),
})
const patience = { patienceMs: minuteMs / 2, signal: stopped }
const objects = config.bucket && createObjectStore(config.bucket, { fetch, clock, ...patience })
const { lease, check } = leadership
const { fence } = lease
const store = objects
  ? createBucket({ objects, fence, log })
  : createDirectory({ publicDir: config.PUBLIC_DIR, fence, check })
const signer = await loadLogSigner(keysDir, keyMaker).catch(exitOnUnusableKey)
const asking = { database, fetch, signal: stopped, policy: config.WITNESSES }
const askSizes = createAskSizes(asking)
const ledgerLog = createLedgerLog({ database, files: store, signer, clock, log, askSizes })
const pollEveryMs = config.POLL_EVERY_MINUTES * minuteMs
const userAgent = outboundUserAgent(config.SITE_URL)
const send = createPinnedFetch({ resolve: createStrangersResolve() })
const webhooks = createWebhooks({
  database,
  clock,
  random,
  log,
  send,
  secretOf: (id) => webhookSecret(keyedHash, id),
  userAgent,
  signal: stopped,
})
const jobs = createJobs({
  onRun: reporter.onRun,
  database,
  clock,
  random,
  fetch,
  log,
  pollEveryMs,
  onBackfill: flags.once
    ? backfillLines(process.stdout)
    : ({ rail, percent, text }) => log.info(`reading ${rail}: ${text}`, { rail, percent }),
  signal: stopped,
  send,
  userAgent,
  sources: createSources({
    fetch,
    clock,
    random,
    userAgent,
    rpcUrls,
    railBaseUrls: config.railBaseUrls,
  }),
  webhooks,
  ledgerLog,
  cosign: createCosigning({ ...asking, clock, log, logKey: signer.key, ledgerLog }),
  receipts: () => checkReceipts({ database, clock, random, fetch, rpcUrls, signal: stopped }),
  // A disconnected service must not abort a build.
  onPublished: () => void process.send?.('published', undefined, undefined, () => undefined),
  buildOptions: {
    database,
    history: createHistory(database.reader),
    isDemo: config.DEMO === 'on',
    dataDir: authoredDir(config, packageRoot),
    adapters: railAdapters,
    site: {
      url: config.SITE_URL,
      serviceName: config.SERVICE_NAME,
      version,
      historyUrl: webAddressOf(config.SNAPSHOT_GIT_REMOTE),
      payments: { settlement: config.SETTLEMENT, receiver: config.PAYMENT_RECEIVER },
    },
    pollEveryMs,
    keys: () => readKeys(keysDir),
    exchangeKeys,
    stateDir: config.DATA_DIR,
    store,
    move: flags.once && flags.move,
    assetsDir: join(packageRoot, 'builder/site/static'),
    repository: { remote: config.SNAPSHOT_GIT_REMOTE, env: process.env },
    check,
    log,
    lastVersion: ledgerLog.lastVersion,
  },
})
const polls = config.POLL === 'on'

if (flags.once) {
  const onReport = railProgress(process.stdout, railAdapters.length)
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
if (broken.signal.aborted) process.exitCode = 1
log.flush()

/** Exits with the service, even if it exited before this process was ready. */
function endWithService(): void {
  // A second SIGTERM would end the process at once, in the middle of its shutdown.
  const end = () => void (stopped.aborted || process.kill(process.pid, 'SIGTERM'))
  process.once('disconnect', end)
  if (process.send !== undefined && !process.connected) end()
}
