/** The entry of the service: settings → database → dependencies → listen → shut down. */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import type { InstalledDeps } from './actions/deps.ts'
import { createPaymentWatch } from './actions/payment-watch.ts'
import { loadReference, referencePaths } from './actions/reference.ts'
import { createApp } from './app.ts'
import { createCheckThreads } from './auth/check-threads.ts'
import { exchangeKeyPaths, loadExchangeKeys } from './auth/exchange-keys.ts'
import { loadKeyedHash } from './auth/keyed-hash.ts'
import { createWalletChain } from './auth/wallet-chain.ts'
import { openDatabase } from './db/open.ts'
import { receiptsSince } from './db/receipts/view.ts'
import { createDocumentStore } from './http/document-store.ts'
import { createStatsSince } from './http/live.ts'
import { serve } from './http/serve.ts'
import { createViewCounter } from './http/view-counter.ts'
import { createOutbox } from './mail/outbox.ts'
import { createSmtpMail } from './mail/smtp.ts'
import { createWriteObserver } from './metrics/database.ts'
import { instrumentOutbound, instrumentPayments } from './metrics/instrument.ts'
import { createMeter } from './metrics/meter.ts'
import { createProcessReadings } from './metrics/process.ts'
import { serveMetrics } from './metrics/serve.ts'
import { createServiceMetrics } from './metrics/service.ts'
import { createPinnedFetch } from './outbound/pinned-fetch.ts'
import { loadPayments } from './payments/load.ts'
import { startBuilder } from './runtime/builder-process.ts'
import { authoredDir, withDemoHeader } from './runtime/demo.ts'
import { createHealth } from './runtime/health.ts'
import { paymentSettingsOf } from './runtime/payment-settings.ts'
import { loadReloaded } from './runtime/reloaded.ts'
import {
  configOrExit,
  exitOnUnusableDatabase,
  exitOnWrongSetting,
  packageRoot,
  stopSignal,
  systemClock,
  systemLog,
  systemRandom,
  systemResolve,
  untilAborted,
} from './runtime/runtime.ts'
import { welcome } from './runtime/welcome.ts'

const graceMs = 10_000

const config = configOrExit()
const clock = systemClock
const log = systemLog(config.LOG_LEVEL)
const broken = new AbortController()
const stopped = AbortSignal.any([stopSignal(), broken.signal])
const startedMonotonicMs = clock.monotonic()
const meter = config.METRICS_PORT === null ? null : createMeter()

const dataDir = authoredDir(config, packageRoot)
// At once: the one waits for the disk while the other is checked.
const [database, reference] = await Promise.all([
  openDatabase({
    url: config.DATABASE_URL ?? join(config.DATA_DIR, 'ledger.db'),
    quickCheck: true,
    checkpoints: config.WAL_CHECKPOINT === 'external' ? 'others' : 'own',
    onBroken: (error) => broken.abort(error),
    ...(meter === null ? {} : { observer: createWriteObserver(meter) }),
  }).catch(exitOnUnusableDatabase),
  loadReloaded(
    {
      name: 'the registries under data/',
      paths: referencePaths(dataDir),
      load: () => loadReference(dataDir),
    },
    { clock, log },
  ),
])
const store = createDocumentStore({ publicDir: config.PUBLIC_DIR, clock, log })
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
const keysDir = join(config.DATA_DIR, 'keys')
const exchangeKeys = await loadReloaded(
  {
    name: 'the keys of the job exchange',
    paths: exchangeKeyPaths(keysDir),
    load: () => loadExchangeKeys(keysDir, systemRandom),
  },
  { clock, log },
)
const reloaded = [reference, exchangeKeys] as const
const checks = createCheckThreads(
  new URL(`auth/check-worker${import.meta.url.slice(-3)}`, import.meta.url),
  { cores: availableParallelism(), log },
)
const problems = () =>
  [
    builder?.problem() ?? null,
    checks.problem(),
    ...reloaded.map(({ problem }) => problem()),
  ].filter((problem) => problem !== null)
process.on('SIGHUP', () => {
  for (const one of reloaded) void one.reload()
})
const mailFrom = config.MAIL_FROM ?? `ledger@${new URL(config.SITE_URL).hostname}`
const mail =
  config.SMTP_URL === null
    ? createOutbox(join(config.DATA_DIR, 'outbox'), mailFrom, { clock, random: systemRandom })
    : createSmtpMail(config.SMTP_URL, mailFrom)
const outside = instrumentOutbound(meter, {
  fetch,
  mail,
  outbound: createPinnedFetch({ resolve: systemResolve }),
})
// Contract wallets are asked on Base, where USDC is paid; without a node of our own only plain keys are taken.
const baseChain =
  config.RPC_URL_BASE === null
    ? undefined
    : createWalletChain(config.RPC_URL_BASE, { fetch: outside.fetch, clock })
const noBase = () => Promise.reject(new Error('RPC_URL_BASE is not set'))
const loadedPayments = await loadPayments(paymentSettingsOf(config), {
  clock,
  fetch: outside.fetch,
  request: baseChain?.request ?? noBase,
}).catch(exitOnWrongSetting)
const payments = instrumentPayments(meter, loadedPayments)
const actions: InstalledDeps = {
  database,
  clock,
  random: systemRandom,
  log,
  serviceName: config.SERVICE_NAME,
  siteUrl: config.SITE_URL,
  isDemo: config.DEMO === 'on',
  reference: reference.current,
  walletChain: (kind) => (kind === 'evm' ? baseChain : undefined),
  verifyInWorker: checks.check,
  keyedHash: await loadKeyedHash(join(config.DATA_DIR, 'secrets'), systemRandom),
  mail: outside.mail,
  outbound: outside.outbound,
  exchangeKeys: exchangeKeys.current,
  payments,
  requestBuild: () => builder?.requestBuild(),
}

const paymentWatch = createPaymentWatch(actions)
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
    store,
    clock,
    startedMonotonicMs,
    jobs: ['poll', 'build', 'webhooks', 'pacts', 'receipts'],
    problems: () => [...problems(), ...paymentWatch.problems()],
    settlement: payments.mode,
  }),
  obstacles: () => Promise.resolve(stopped.aborted ? ['shutting down'] : []),
  statsSince: createStatsSince(store, receiptsSince(database.reader, config.SITE_URL)),
  countView: views.count,
  actions,
})
// Before anybody is answered: a port that is taken ends the start and no request.
const metricsServer =
  meter === null || config.METRICS_PORT === null
    ? null
    : await serveMetrics({
        host: config.METRICS_HOST,
        port: config.METRICS_PORT,
        log,
        render: createServiceMetrics({
          meter,
          clock,
          database,
          store,
          dataDir: config.DATA_DIR,
          publicDir: config.PUBLIC_DIR,
          nodeVersion: process.version,
          process: createProcessReadings(process, clock.now()),
          settlementProblems: paymentWatch.problems,
        }),
      })
await app.counters.load()
const server = await serve(withDemoHeader(config, app.listener), {
  host: config.HOST,
  port: config.PORT,
  clock,
  failureAnswer: app.failureAnswer,
})
log.info('listening', { host: server.address.host, port: server.address.port })
if (metricsServer !== null) {
  const { host, port } = metricsServer.address
  log.info('metrics', { host, port })
}
process.stdout.write(welcome(config, server.address))

const flushing = Promise.all([
  ...reloaded.map(({ watch }) => watch(stopped)),
  views.flushEvery(stopped),
  app.counters.flushEvery(stopped),
  paymentWatch.runEvery(stopped),
])
await untilAborted(stopped)

if (broken.signal.aborted) {
  log.error('the database has failed: the service ends, so that the next one recovers it', {
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
