/** The parts of the builder, each opened by its settings. */
import { join } from 'node:path'

import { createBotIdentity } from '../src/auth/web-bot-auth.ts'
import { chains, rpcSettingOf } from '../src/chain/chains.ts'
import type { ChainName } from '../src/chain/chains.ts'
import type { Config } from '../src/config.ts'
import { version } from '../src/contract/version.ts'
import { entriesOf } from '../src/core/entries.ts'
import { minuteMs } from '../src/core/time.ts'
import { openDatabase } from '../src/db/open.ts'
import type { OpenDatabase } from '../src/db/open.ts'
import { createObjectStore } from '../src/outbound/object-store.ts'
import { createPinnedFetch } from '../src/outbound/pinned-fetch.ts'
import { createStrangersResolve } from '../src/outbound/resolve-stranger.ts'
import { webhookSecret } from '../src/outbound/standard-webhook.ts'
import { outboundUserAgent } from '../src/outbound/user-agent.ts'
import { authoredDir } from '../src/runtime/demo.ts'
import type { LedgerKeys } from '../src/runtime/keys.ts'
import { exitOnStartError, packageRoot } from '../src/runtime/runtime.ts'
import type { Runtime } from '../src/runtime/runtime.ts'
import { webAddressOf } from './archive/web-address.ts'
import { checkReceipts } from './jobs/check-receipts.ts'
import { createJobs } from './jobs/create-jobs.ts'
import type { JobsDeps } from './jobs/create-jobs.ts'
import { createWebhooks } from './jobs/deliver.ts'
import type { Leadership } from './jobs/leadership.ts'
import { createLedgerLog } from './log/log.ts'
import type { LedgerLog } from './log/log.ts'
import { createAskSizes, createCosigning } from './log/witnesses.ts'
import { createBucket } from './publish/store/bucket.ts'
import { createDirectory } from './publish/store/directory.ts'
import type { SetStore } from './publish/store/store.ts'
import type { AnyRailAdapter } from './rails/adapter.ts'
import { railAdapters } from './rails/index.ts'
import { createSources } from './rails/sources.ts'
import { loadDemoRules } from './world/demo-rules.ts'
import { createHistory } from './world/history.ts'

export async function openBuilderDatabase(
  config: Config,
  { log, fail }: Runtime,
): Promise<OpenDatabase> {
  return await openDatabase({
    ...config.database,
    // The builder waits longer than the service, whose callers wait for an answer.
    lockPatienceMs: minuteMs,
    onBroken: (error) => {
      log.error('the database has failed: stopping the builder', { error: String(error) })
      fail(error)
    },
  }).catch(exitOnStartError)
}

/** A demo polls nothing: its adapters only state their rules. */
export async function loadAdapters(config: Config): Promise<readonly AnyRailAdapter[]> {
  return config.DEMO === 'on' ? await loadDemoRules(authoredDir(config, packageRoot)) : railAdapters
}

export function openSetStore(config: Config, runtime: Runtime, leadership: Leadership): SetStore {
  const { lease, check } = leadership
  const { fence } = lease
  if (config.bucket === null) {
    return createDirectory({ publicDir: config.PUBLIC_DIR, fence, check })
  }
  const { clock, log, fetch, stopped: signal } = runtime
  const patience = { patienceMs: minuteMs / 2, signal }
  const objects = createObjectStore(config.bucket, { fetch, clock, ...patience })
  return createBucket({ objects, fence, log })
}

interface LeaderParts {
  readonly database: OpenDatabase
  readonly keys: LedgerKeys
  readonly store: SetStore
}

export function openLog(
  config: Config,
  { clock, log, fetch, stopped: signal }: Runtime,
  { database, store, keys: { log: signer } }: LeaderParts,
) {
  const asking = { database, fetch, signal, policy: config.WITNESSES }
  const askSizes = createAskSizes(asking)
  const ledgerLog = createLedgerLog({ database, files: store, signer, clock, log, askSizes })
  const cosign = createCosigning({ ...asking, clock, log, logKey: signer.key, ledgerLog })
  return { ledgerLog, cosign }
}

export function openJobs(
  config: Config,
  { clock, random, log, fetch, env, stopped: signal }: Runtime,
  deps: LeaderParts & {
    readonly adapters: readonly AnyRailAdapter[]
    readonly check: Leadership['check']
    readonly ledgerLog: LedgerLog
    readonly cosign: JobsDeps['cosign']
    readonly onRun: NonNullable<JobsDeps['onRun']>
    readonly onBackfill: NonNullable<JobsDeps['onBackfill']>
    readonly onPublished: JobsDeps['onPublished']
    readonly move: boolean
  },
) {
  const { database, keys, store, check, ledgerLog, cosign, onRun, onBackfill, onPublished } = deps
  const rpcUrls: Partial<Record<ChainName, string | null>> = Object.fromEntries(
    entriesOf(chains).map(([name]) => [name, config[rpcSettingOf(name)]]),
  )
  const pollEveryMs = config.POLL_EVERY_MINUTES * minuteMs
  const userAgent = outboundUserAgent(config.SITE_URL)
  const common = { database, clock, random, log, signal }
  const toStrangers = { send: createPinnedFetch({ resolve: createStrangersResolve() }), userAgent }
  const secretOf = (id: string, version: number) => webhookSecret(keys.hash, id, version)
  const webhooks = createWebhooks({ ...common, ...toStrangers, secretOf })
  const jobs = createJobs({
    ...common,
    ...toStrangers,
    fetch,
    pollEveryMs,
    onRun,
    onBackfill,
    sources: createSources({
      fetch,
      clock,
      random,
      userAgent,
      sign: createBotIdentity({ siteUrl: config.SITE_URL, keyedHash: keys.hash, clock, random })
        .sign,
      rpcUrls,
      railBaseUrls: config.railBaseUrls,
    }),
    webhooks,
    ledgerLog,
    cosign,
    receipts: () => checkReceipts({ ...common, fetch, rpcUrls }),
    onPublished,
    buildOptions: {
      database,
      history: createHistory(database.reader),
      isDemo: config.DEMO === 'on',
      dataDir: authoredDir(config, packageRoot),
      adapters: deps.adapters,
      site: {
        url: config.SITE_URL,
        serviceName: config.SERVICE_NAME,
        version,
        historyUrl: webAddressOf(config.SNAPSHOT_GIT_REMOTE),
        payments: { settlement: config.SETTLEMENT, receiver: config.PAYMENT_RECEIVER },
      },
      pollEveryMs,
      keys: keys.signing,
      exchangeKeys: keys.exchange,
      stateDir: config.DATA_DIR,
      store,
      move: deps.move,
      assetsDir: join(packageRoot, 'builder/site/static'),
      repository: { remote: config.SNAPSHOT_GIT_REMOTE, env },
      check,
      log,
      lastVersion: ledgerLog.lastVersion,
    },
  })
  return { jobs, webhooks }
}
