import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import type { InstalledDeps } from './actions/deps.ts'
import { createPaymentWatch } from './actions/payment-watch.ts'
import { createApp } from './app.ts'
import { createCheckThreads } from './auth/check-threads.ts'
import { loadKeyedHash } from './auth/keyed-hash.ts'
import { loadLogSigner } from './auth/notes.ts'
import { repeatEvery } from './core/concurrency.ts'
import { receiptsSince } from './db/receipts/view.ts'
import { createDocumentStore } from './http/document-store.ts'
import { createStatsSince } from './http/live.ts'
import { createSetSource } from './http/published-sets.ts'
import { serve } from './http/serve.ts'
import { createViewCounter } from './http/view-counter.ts'
import { createMeter } from './metrics/meter.ts'
import { createProcessReadings } from './metrics/process.ts'
import { createBuildRequests } from './runtime/build-requests.ts'
import { startBuilder } from './runtime/builder-process.ts'
import { withDemoHeader } from './runtime/demo.ts'
import { createHealth } from './runtime/health.ts'
import { publishedFiles } from './runtime/published-files.ts'
import {
  configOrExit,
  exitOnUnusableKey,
  keyMakerOf,
  stopSignal,
  systemClock,
  systemLog,
  systemRandom,
  untilAborted,
} from './runtime/runtime.ts'
import {
  connectOutbound,
  loadAnswerSigner,
  loadRegistries,
  loadServiceKeys,
  openServiceDatabase,
  startMetrics,
} from './runtime/service.ts'
import { welcome } from './runtime/welcome.ts'
import { createWriteProbe } from './runtime/write-probe.ts'

const graceMs = 10_000
/** A crash loses the views counted since the last flush. */
const viewsFlushMs = 10_000
const countersFlushMs = 5000

const config = configOrExit()
const clock = systemClock
const log = systemLog(config.LOG_LEVEL)
const broken = new AbortController()
const stopped = AbortSignal.any([stopSignal(), broken.signal])
const startedMonotonicMs = clock.monotonic()
const meter = config.METRICS_PORT === null ? null : createMeter()

// Both run in parallel, since the database check waits for the disk.
const [database, reference] = await Promise.all([
  openServiceDatabase(config, meter, (error) => broken.abort(error)),
  loadRegistries(config, log),
])
const source = createSetSource(publishedFiles(config, { fetch, clock }), database.reader)
const store = createDocumentStore({ source, clock, log })
await store.reload()
const watching = store.watch(stopped)

const builder =
  config.BUILDER === 'off'
    ? null
    : startBuilder({
        entry: new URL(`../builder/main${import.meta.url.slice(-3)}`, import.meta.url),
        clock,
        log,
        onPublished: () => void store.reload(),
      })
const secretsDir = join(config.DATA_DIR, 'secrets')
const exchangeKeys = await loadServiceKeys(config, log).catch(exitOnUnusableKey)
const answerSigner = await loadAnswerSigner(config, log).catch(exitOnUnusableKey)
const reloaded = [reference, exchangeKeys, answerSigner] as const
const checks = createCheckThreads(
  new URL(`auth/check-worker${import.meta.url.slice(-3)}`, import.meta.url),
  { cores: availableParallelism(), log },
)
const problems = () =>
  [
    builder?.problem() ?? null,
    checks.problem(),
    source.problem(),
    ...reloaded.map(({ problem }) => problem()),
  ].filter((problem) => problem !== null)
process.on('SIGHUP', () => {
  for (const one of reloaded) void one.reload()
})
const keyedHash = await loadKeyedHash(secretsDir, keyMakerOf(config)).catch(exitOnUnusableKey)
const keysDir = join(config.DATA_DIR, 'keys')
const logSigner = await loadLogSigner(keysDir, keyMakerOf(config)).catch(exitOnUnusableKey)
const outbound = await connectOutbound(config, meter, fetch)
const basics = { database, clock, random: systemRandom, log }
// The child may stand by while a builder of another replica works.
const requestElsewhere =
  builder === null || database.engine === 'postgres' ? createBuildRequests(basics) : null
const actions: InstalledDeps = {
  ...basics,
  serviceName: config.SERVICE_NAME,
  siteUrl: config.SITE_URL,
  isDemo: config.DEMO === 'on',
  reference: reference.current,
  walletChain: (kind) => (kind === 'evm' ? outbound.baseChain : undefined),
  verifyInWorker: checks.check,
  keyedHash,
  mail: outbound.mail,
  outbound: outbound.outbound,
  exchangeKeys: exchangeKeys.current,
  answerSigner: answerSigner.current,
  logSigner,
  witnessPolicy: config.WITNESSES,
  payments: outbound.payments,
  requestBuild: () => {
    builder?.requestBuild()
    requestElsewhere?.()
  },
}

const paymentWatch = createPaymentWatch(actions)
const probe = createWriteProbe({ database, clock })
const views = createViewCounter({ database, clock, log })
const app = createApp({
  ...(meter === null ? {} : { meter }),
  siteUrl: config.SITE_URL,
  clock,
  random: systemRandom,
  log,
  store,
  limits: config.LIMITS,
  trustedProxies: config.TRUSTED_PROXIES,
  health: createHealth({
    database,
    ...probe,
    store,
    clock,
    startedMonotonicMs,
    jobs: ['poll', 'build', 'webhooks', 'pacts', 'receipts', 'log'],
    problems: () => [...problems(), ...paymentWatch.problems()],
    settlement: outbound.payments.mode,
  }),
  obstacles: async () => [
    ...(stopped.aborted ? ['shutting down'] : []),
    ...((await probe.canWrite()) ? [] : ['the database cannot store a write']),
  ],
  statsSince: createStatsSince(store, receiptsSince(config.SITE_URL)),
  countView: views.count,
  actions,
})
// Runs before the service listens, so that a port in use prevents the start.
const metricsServer = await startMetrics(
  config,
  { meter, log },
  {
    database,
    store,
    settlementProblems: paymentWatch.problems,
    nodeVersion: process.version,
    process: createProcessReadings(process, clock.now()),
  },
)
await app.counters.load()
const server = await serve(withDemoHeader(config, app.listener), {
  host: config.HOST,
  port: config.PORT,
  clock,
  ...app,
})
log.info('listening', { host: server.address.host, port: server.address.port })
process.stdout.write(welcome(config, server.address))

const flushing = Promise.all([
  ...reloaded.map(({ watch }) => watch(stopped)),
  repeatEvery(viewsFlushMs, views.flush, { clock, signal: stopped }),
  repeatEvery(countersFlushMs, app.counters.flush, { clock, signal: stopped }),
  paymentWatch.runEvery(stopped),
])
await untilAborted(stopped)

if (broken.signal.aborted) {
  log.error('the database has failed: stopping, so that the next start recovers it', {
    error: String(broken.signal.reason),
  })
}
log.info('shutting down')
const clean = await server.close(graceMs)
await metricsServer?.close()
await builder?.stop()
await watching
await flushing
await checks.close()
await views.flush()
await app.counters.flush()
await database.close()
log.info('stopped', { clean })
log.flush()
process.exitCode = clean && !broken.signal.aborted ? 0 : 1
