import { join } from 'node:path'

import { loadReference, referencePaths } from '../actions/reference.ts'
import type { Reference } from '../actions/reference.ts'
import { exchangeKeyPaths, loadExchangeKeys } from '../auth/exchange-keys.ts'
import type { ExchangeKeys } from '../auth/exchange-keys.ts'
import { SIGNING_KEYS_FILE, loadKeys } from '../auth/service-keys.ts'
import type { Signer } from '../auth/service-keys.ts'
import { createEvmNode, createServiceNode } from '../chain/node.ts'
import type { Config } from '../config.ts'
import type { Log } from '../core/deps.ts'
import { createHolder } from '../db/holder.ts'
import { openDatabase } from '../db/open.ts'
import type { OpenDatabase } from '../db/open.ts'
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
import { authoredDir } from './demo.ts'
import { paymentSettingsOf } from './payment-settings.ts'
import { loadReloaded } from './reloaded.ts'
import type { Reloaded } from './reloaded.ts'
import {
  exitOnUnusableDatabase,
  exitOnWrongSetting,
  keyMakerOf,
  packageRoot,
  systemClock,
  systemRandom,
} from './runtime.ts'

const clock = systemClock

export async function openServiceDatabase(
  config: Config,
  meter: Meter | null,
  onBroken: (error: unknown) => void,
): Promise<OpenDatabase> {
  return await openDatabase({
    url: config.DATABASE_URL ?? join(config.DATA_DIR, 'ledger.db'),
    quickCheck: true,
    checkpoints: config.WAL_CHECKPOINT === 'external' ? 'others' : 'own',
    onBroken,
    ...(meter === null ? {} : { observer: createWriteObserver(meter) }),
  }).catch(exitOnUnusableDatabase)
}

export async function loadRegistries(config: Config, log: Log): Promise<Reloaded<Reference>> {
  const dataDir = authoredDir(config, packageRoot)
  const source = {
    name: 'the registries under data/',
    paths: referencePaths(dataDir),
    load: () => loadReference(dataDir),
  }
  return await loadReloaded(source, { clock, log })
}

export async function loadServiceKeys(config: Config, log: Log): Promise<Reloaded<ExchangeKeys>> {
  const keysDir = join(config.DATA_DIR, 'keys')
  const source = {
    name: 'the keys of the job exchange',
    paths: exchangeKeyPaths(keysDir),
    load: () => loadExchangeKeys(keysDir, keyMakerOf(config)),
  }
  return await loadReloaded(source, { clock, log })
}

export async function loadAnswerSigner(config: Config, log: Log): Promise<Reloaded<Signer>> {
  const dir = join(config.DATA_DIR, 'keys')
  const source = {
    name: 'the signing keys',
    paths: [join(dir, SIGNING_KEYS_FILE)],
    load: async () => (await loadKeys({ dir, nowMs: clock.now(), keys: config.KEYS })).signer,
  }
  return await loadReloaded(source, { clock, log })
}

export async function connectOutbound(
  config: Config,
  meter: Meter | null,
  fetch: Parameters<typeof instrumentOutbound>[1]['fetch'],
) {
  const mailFrom = config.MAIL_FROM ?? `ledger@${new URL(config.SITE_URL).hostname}`
  const mail =
    config.SMTP_URL === null
      ? createOutbox(join(config.DATA_DIR, 'outbox'), mailFrom, { clock, random: systemRandom })
      : createSmtpMail(config.SMTP_URL, mailFrom)
  const pinnedFetch = createPinnedFetch({ resolve: createStrangersResolve() })
  const outbound = instrumentOutbound(meter, { fetch, mail, outbound: pinnedFetch })
  // Contract wallets are verified on Base; without a node only plain keys are accepted.
  const rpcUrl = config.RPC_URL_BASE
  const deps = { fetch: outbound.fetch, clock, random: systemRandom }
  const base = rpcUrl === null ? null : createServiceNode(rpcUrl, deps)
  const noBase = () => Promise.reject(new Error('RPC_URL_BASE is not set'))
  const payments = await loadPayments(paymentSettingsOf(config), {
    clock,
    fetch: outbound.fetch,
    node: base ?? createEvmNode('base', noBase),
    holder: createHolder(),
  }).catch(exitOnWrongSetting)
  const baseChain = base === null ? undefined : { node: base, clock }
  return { ...outbound, baseChain, payments: instrumentPayments(meter, payments) }
}

type MetricsSources = Pick<
  Parameters<typeof createServiceMetrics>[0],
  'database' | 'store' | 'settlementProblems' | 'nodeVersion' | 'process'
>

/** Returns null if METRICS_PORT is unset. */
export async function startMetrics(
  config: Config,
  { meter, log }: { readonly meter: Meter | null; readonly log: Log },
  sources: MetricsSources,
) {
  if (meter === null || config.METRICS_PORT === null) return null
  const render = createServiceMetrics({
    ...sources,
    meter,
    clock,
    dataDir: config.DATA_DIR,
    publicDir: config.PUBLIC_DIR,
  })
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  const server = await serveMetrics({ host, port, log, render })
  log.info('metrics', { host: server.address.host, port: server.address.port })
  return server
}
