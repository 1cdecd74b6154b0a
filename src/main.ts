/** The entry of the service. */
import { availableParallelism } from 'node:os'

import type { InstalledDeps } from './actions/deps.ts'
import { createPaymentWatch } from './actions/payment-watch.ts'
import { createApp } from './app.ts'
import { createCheckThreads } from './auth/check-threads.ts'
import { repeatEvery } from './core/concurrency.ts'
import { findCheckpoint } from './db/log.ts'
import { serve } from './http/serve.ts'
import { createViewCounter } from './http/view-counter.ts'
import { createMeter } from './metrics/meter.ts'
import { withDemoHeader } from './runtime/demo.ts'
import { createHealth } from './runtime/health.ts'
import { configOrExit, exitOnStartError, startRuntime, untilAborted } from './runtime/runtime.ts'
import {
  connectOutbound,
  loadRegistries,
  loadServiceKeys,
  openDocuments,
  openServiceDatabase,
  startMetrics,
  startOwnBuilder,
} from './runtime/service.ts'
import { welcome } from './runtime/welcome.ts'
import { createWriteProbe } from './runtime/write-probe.ts'

const graceMs = 10_000
/** A crash loses the views counted since the last flush. */
const viewsFlushMs = 10_000
const countersFlushMs = 5000

/** Returns the URL of another entry; sources (.ts) and bundles (.js) have the same layout. */
const entryAt = (path: string) => new URL(`${path}${import.meta.url.slice(-3)}`, import.meta.url)

const config = configOrExit()
const runtime = startRuntime(config)
const { clock, random, log, stopped, failed } = runtime
const startedMonotonicMs = clock.monotonic()
const meter = config.METRICS_PORT === null ? null : createMeter()

// Both run in parallel, since the database check waits for the disk.
const [database, registries] = await Promise.all([
  openServiceDatabase(config, runtime, meter),
  loadRegistries(config, runtime),
])
const documents = await openDocuments(config, runtime, database)
const { store } = documents
const { keys, logSigner, reloaded: keyFiles } = await loadServiceKeys(config, runtime, database)
const builder = startOwnBuilder(config, runtime, {
  entry: entryAt('../builder/main'),
  database,
  onPublished: () => void store.reload(),
})
const reloaded = [registries, ...keyFiles]
process.on('SIGHUP', () => {
  for (const files of reloaded) void files.reload()
})
const cores = availableParallelism()
const checks = createCheckThreads(entryAt('auth/check-worker'), { cores, log })
const { outbound, payments, baseChain } = await connectOutbound(config, runtime, meter)

const actions: InstalledDeps = {
  database,
  clock,
  random,
  log,
  site: {
    url: config.SITE_URL,
    serviceName: config.SERVICE_NAME,
    isDemo: config.DEMO === 'on',
  },
  reference: registries.current,
  signatures: {
    walletChain: (kind) => (kind === 'evm' ? baseChain : undefined),
    check: checks.check,
  },
  keys,
  ledgerLog: { signer: logSigner, witnesses: config.WITNESSES },
  outbound,
  payments,
  requestBuild: builder.requestBuild,
}
const paymentWatch = createPaymentWatch(actions)
const probe = createWriteProbe({ database, clock })
const views = createViewCounter({ database, clock, log })

const app = createApp({
  ...(meter === null ? {} : { meter }),
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
    problems: () => [
      ...[builder.process, checks, documents, ...reloaded].flatMap((part) => part?.problem() ?? []),
      ...paymentWatch.problems(),
    ],
    settlement: payments.mode,
  }),
  obstacles: async () => [
    ...(stopped.aborted ? ['shutting down'] : []),
    ...((await probe.canWrite()) ? [] : ['the database cannot store a write']),
    ...((await findCheckpoint(database.reader, 'signed')) ? [] : ['the database lacks the log']),
  ],
  countView: views.count,
  actions,
})

// Runs before the service listens, so that a port in use prevents the start.
const metricsServer = await startMetrics(config, runtime, meter, {
  database,
  store,
  settlementProblems: paymentWatch.problems,
  nodeVersion: process.version,
}).catch(exitOnStartError)
await app.counters.load()
const { HOST: host, PORT: port } = config
const listener = withDemoHeader(config, app.listener)
const server = await serve(listener, { host, port, clock, ...app }).catch(exitOnStartError)
log.info('listening', { host: server.address.host, port: server.address.port })
process.stdout.write(welcome(config, server.address))

const background = Promise.all([
  documents.watched,
  ...reloaded.map(({ watch }) => watch(stopped)),
  repeatEvery(viewsFlushMs, views.flush, { clock, signal: stopped }),
  repeatEvery(countersFlushMs, app.counters.flush, { clock, signal: stopped }),
  paymentWatch.runEvery(stopped),
])
await untilAborted(stopped)

if (failed.aborted) {
  log.error('the database has failed: stopping, so that the next start recovers it', {
    error: String(failed.reason),
  })
}
log.info('shutting down')
const clean = await server.close(graceMs)
await metricsServer?.close()
await builder.process?.stop()
await background
await checks.close()
await views.flush()
await app.counters.flush()
await database.close()
log.info('stopped', { clean })
log.flush()
process.exitCode = clean && !failed.aborted ? 0 : 1
