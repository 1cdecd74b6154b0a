/** The parts of the service, each opened by its settings. */
import { join } from 'node:path'

import { loadReference, referencePaths } from '../actions/reference.ts'
import type { Reference } from '../actions/reference.ts'
import { exchangeKeyPaths } from '../auth/exchange-keys.ts'
import { SIGNING_KEYS_FILE } from '../auth/service-keys.ts'
import { createEvmNode, createServiceNode } from '../chain/node.ts'
import type { Config } from '../config.ts'
import { createHolder } from '../db/holder.ts'
import { openDatabase } from '../db/open.ts'
import type { OpenDatabase } from '../db/open.ts'
import { createDocumentStore } from '../http/document-store.ts'
import { createSetSource } from '../http/published-sets.ts'
import { createOutbox } from '../mail/outbox.ts'
import { createSmtpMail } from '../mail/smtp.ts'
import { createWriteObserver } from '../metrics/database.ts'
import { instrumentOutbound, instrumentPayments } from '../metrics/instrument.ts'
import type { Meter } from '../metrics/meter.ts'
import { serveMetrics } from '../metrics/serve.ts'
import { createServiceMetrics } from '../metrics/service.ts'
import { createPinnedFetch } from '../outbound/pinned-fetch.ts'
import { createStrangersResolve } from '../outbound/resolve-stranger.ts'
import { loadPayments } from '../payments/load.ts'
import { createBuildRequests } from './build-requests.ts'
import { startBuilder } from './builder-process.ts'
import type { BuilderProcess } from './builder-process.ts'
import { authoredDir } from './demo.ts'
import { openLedgerKeys } from './keys.ts'
import { paymentSettingsOf } from './payment-settings.ts'
import { publishedFiles } from './published-files.ts'
import { loadReloaded } from './reloaded.ts'
import type { Reloaded } from './reloaded.ts'
import { exitOnStartError, packageRoot } from './runtime.ts'
import type { Runtime } from './runtime.ts'

export async function openServiceDatabase(
  config: Config,
  { fail }: Runtime,
  meter: Meter | null,
): Promise<OpenDatabase> {
  return await openDatabase({
    ...config.database,
    quickCheck: true,
    onBroken: fail,
    ...(meter === null ? {} : { observer: createWriteObserver(meter) }),
  }).catch(exitOnStartError)
}

export async function loadRegistries(
  config: Config,
  runtime: Runtime,
): Promise<Reloaded<Reference>> {
  const dataDir = authoredDir(config, packageRoot)
  const source = {
    name: 'the registries under data/',
    paths: referencePaths(dataDir),
    load: () => loadReference(dataDir),
  }
  return await loadReloaded(source, runtime)
}

/** Serves the current published set and follows the builder. */
export async function openDocuments(config: Config, runtime: Runtime, { reader }: OpenDatabase) {
  const source = createSetSource(publishedFiles(config, runtime), reader)
  const store = createDocumentStore({ source, ...runtime })
  await store.reload()
  return { store, problem: source.problem, watched: store.watch(runtime.stopped) }
}

export async function loadServiceKeys(config: Config, runtime: Runtime, database: OpenDatabase) {
  const opened = await openLedgerKeys(config, database, runtime).catch(exitOnStartError)
  const { dir, hash, log, signing, exchange } = opened
  const exchangeKeys = await loadReloaded(
    { name: 'the keys of the job exchange', paths: exchangeKeyPaths(dir), load: exchange },
    runtime,
  )
  const answerSigner = await loadReloaded(
    {
      name: 'the signing keys',
      paths: [join(dir, SIGNING_KEYS_FILE)],
      load: async () => (await signing()).signer,
    },
    runtime,
  )
  return {
    keys: { hash, exchange: exchangeKeys.current, answers: answerSigner.current },
    logSigner: log,
    reloaded: [exchangeKeys, answerSigner],
  }
}

/** Starts the builder as a child process unless `BUILDER=off`, and returns how to request a build. */
export function startOwnBuilder(
  config: Config,
  runtime: Runtime,
  deps: {
    readonly entry: URL
    readonly database: OpenDatabase
    readonly onPublished: () => void
  },
): { readonly process: BuilderProcess | null; readonly requestBuild: () => void } {
  const { entry, database, onPublished } = deps
  const child = config.BUILDER === 'off' ? null : startBuilder({ entry, ...runtime, onPublished })
  // The child may be in standby while a builder of another replica works.
  const isElsewhere = child === null || database.engine === 'postgres'
  const requestElsewhere = isElsewhere ? createBuildRequests({ database, ...runtime }) : null
  return {
    process: child,
    requestBuild: () => {
      child?.requestBuild()
      requestElsewhere?.()
    },
  }
}

export async function connectOutbound(
  config: Config,
  { clock, random, fetch }: Runtime,
  meter: Meter | null,
) {
  const from = config.MAIL_FROM ?? `ledger@${new URL(config.SITE_URL).hostname}`
  const clients = instrumentOutbound(meter, {
    fetch,
    send: createPinnedFetch({ resolve: createStrangersResolve() }),
    mail:
      config.SMTP_URL === null
        ? createOutbox(join(config.DATA_DIR, 'outbox'), from, { clock, random })
        : createSmtpMail(config.SMTP_URL, from),
  })
  // Contract wallets are verified on Base; without a node only plain keys are accepted.
  const rpcUrl = config.RPC_URL_BASE
  const deps = { fetch: clients.fetch, clock, random }
  const base = rpcUrl === null ? null : createServiceNode(rpcUrl, deps)
  const noBase = () => Promise.reject(new Error('RPC_URL_BASE is not set'))
  const payments = await loadPayments(paymentSettingsOf(config), {
    clock,
    random,
    fetch: clients.fetch,
    node: base ?? createEvmNode('base', noBase),
    holder: createHolder(),
  }).catch(exitOnStartError)
  return {
    outbound: clients,
    payments: instrumentPayments(meter, payments),
    baseChain: base === null ? undefined : { node: base, clock },
  }
}

type MetricsSources = Pick<
  Parameters<typeof createServiceMetrics>[0],
  'database' | 'store' | 'settlementProblems' | 'nodeVersion'
>

/** Returns null if METRICS_PORT is unset. */
export async function startMetrics(
  config: Config,
  { clock, log, startReadings }: Runtime,
  meter: Meter | null,
  sources: MetricsSources,
) {
  if (meter === null || config.METRICS_PORT === null) return null
  const render = createServiceMetrics({
    ...sources,
    meter,
    clock,
    dataDir: config.DATA_DIR,
    publicDir: config.PUBLIC_DIR,
    process: startReadings(),
  })
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  const server = await serveMetrics({ host, port, log, render })
  log.info('metrics', { host: server.address.host, port: server.address.port })
  return server
}
