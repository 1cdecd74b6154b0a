/** Service and builder, composed like their entry points, on the simulated machine. */
import { createServer } from 'node:http'

import { createSnapshots } from '../../builder/documents/index.ts'
import { createJobs } from '../../builder/jobs/create-jobs.ts'
import { createWebhooks } from '../../builder/jobs/deliver.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { gatherWorld } from '../../builder/world/gather.ts'
import { createHistory } from '../../builder/world/history.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { createApp } from '../../src/app.ts'
import { checkHere } from '../../src/auth/check.ts'
import { noteSigner } from '../../src/auth/notes.ts'
import type { LineLog } from '../../src/core/log.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { webhookSecret } from '../../src/outbound/standard-webhook.ts'
import { figures } from '../support/figures.ts'
import type { PaymentWorld } from './chain/world.ts'
import type { Machine, Process } from './machine.ts'
import type { Chance } from './random.ts'
import { siteUrl } from './requests.ts'
import type { Run } from './run.ts'
import type { Receivers } from './verdict/webhooks.ts'

export type ServiceProcess = Awaited<ReturnType<typeof startService>>
export type BuilderProcess = Awaited<ReturnType<typeof startBuilder>>

export interface Host extends Run {
  readonly paymentWorld: PaymentWorld
  readonly receivers: Receivers
  readonly path: string
  readonly generation: number
  /** True: transactions wait for the file lock without a limit; false: not at all. */
  readonly isPatient: boolean
  readonly fault: (text: string) => void
}

const serviceName = 'agent-income-ledger'
const pollEveryMs = 900_000
/** Longer than any run: the limit is tested elsewhere. */
const heldLimitMs = 600_000

async function open({ path, isPatient }: Host, process: Process): Promise<OpenDatabase> {
  const database = await openDatabase({
    url: path,
    create: false,
    heldLimitMs,
    listDeadlineMs: heldLimitMs,
    lockPatienceMs: isPatient ? 1e9 : 0,
    onBroken: () => {
      process.isBroken = true
    },
  })
  // Opens both connections of lists, one after the other, while the process starts.
  const other = { gone: new AbortController().signal, network: 1 }
  await database.list(() => database.list(() => Promise.resolve(), other))
  return database
}

function randomOf(chance: Chance) {
  return { bytes: chance.bytes, unit: () => chance.below(1e6) / 1e6 }
}

const silent = () => undefined

/** A run must not log errors unless the machine caused a fault. */
function logOf(host: Host, process: Process): LineLog {
  const error: LineLog['error'] = (message, fields) => {
    const reason = String(fields?.['reason'] ?? fields?.['detail'] ?? '')
    // Failing polls and reverted payments are part of the simulated world.
    const isWorld = reason.includes('rails polled') || /^payments? (?:were )?undone/.test(message)
    if (process.isAlive && !isWorld) host.fault(`${message}: ${reason}`)
  }
  const log = { debug: silent, info: silent, warn: silent, error }
  return { ...log, isEnabled: () => false, flush: silent }
}

export async function startService(host: Host) {
  const { machine, installation, chanceFor, generation } = host
  return await machine.startProcess('service', async (process) => {
    const database = await open(host, process)
    const clock = machine.clockOf(process)
    const random = randomOf(chanceFor(`service ${generation}`))
    const log = logOf(host, process)
    const actions: InstalledDeps = {
      database,
      clock,
      random,
      log,
      site: { url: siteUrl, serviceName, isDemo: false },
      reference: () => installation.reference,
      signatures: {
        walletChain: () => undefined,
        // The seed decides when a check ends.
        check: async (check) => {
          await machine.answer(process, 'check', () => null)
          return await checkHere(check)
        },
      },
      keys: {
        hash: installation.keyedHash,
        exchange: () => installation.exchangeKeys,
        answers: () => installation.keys.signer,
      },
      ledgerLog: {
        signer: noteSigner('ledger.test/log', installation.exchangeKeys.active),
        witnesses: { witnesses: [], quorum: 1 },
      },
      outbound: {
        send: () => Promise.reject(new Error('nothing is fetched')),
        mail: () => Promise.reject(new Error('no e-mail is sent')),
      },
      payments: host.paymentWorld.paymentsOf(process),
      requestBuild: silent,
    }
    const app = createApp({
      log,
      store: {
        get: () => undefined,
        getFile: () => Promise.resolve(null),
        state: () => ({ manifest: null, problem: null, damaged: new Map() }),
      },
      limits: 'off',
      trustedProxies: [],
      health: () => Promise.resolve({ statusCode: 200, body: { status: 'ok' } }),
      obstacles: () => Promise.resolve([]),
      countView: silent,
      actions,
    })
    const server = createServer({ requireHostHeader: false }, app.listener)
    return { server, watch: createPaymentWatch(actions).run }
  })
}

export async function startBuilder(host: Host) {
  const { machine, installation, chanceFor, generation } = host
  const { dataDir, keys, exchangeKeys } = installation
  return await machine.startProcess('builder', async (process) => {
    const database = await open(host, process)
    const clock = machine.clockOf(process)
    const chance = chanceFor(`builder ${generation}`)
    const random = randomOf(chance)
    const log = logOf(host, process)
    const adapters = [
      adapter('x402', machine, process, chance),
      adapter('olas', machine, process, chance),
    ]
    const gather = {
      database,
      history: createHistory(database.reader),
      dataDir,
      adapters,
      site: {
        url: siteUrl,
        serviceName,
        version: '0.0.0',
        historyUrl: null,
        payments: { settlement: 'off', receiver: null },
      },
      pollEveryMs,
      exchangeKeys: () => Promise.resolve(exchangeKeys),
    } as const
    const fetch = () => Promise.reject(new Error('nothing is fetched'))
    const nothing = () => Promise.reject(new Error('not in the simulation'))
    const worker = createJobs({
      database,
      clock,
      random,
      fetch,
      log,
      pollEveryMs,
      sources: createSources({
        fetch,
        clock,
        random,
        userAgent: 'simulation',
        rpcUrls: {},
        railBaseUrls: new Map(),
      }),
      send: nothing,
      userAgent: 'simulation',
      webhooks: createWebhooks({
        database,
        // A round ends with its last attempt, so that every change belongs to the job that runs.
        clock: { ...clock, sleep: () => new Promise(() => undefined) },
        random,
        log,
        send: host.receivers.reach(process),
        secretOf: (id, version) => webhookSecret(installation.keyedHash, id, version),
        userAgent: 'simulation',
        signal: new AbortController().signal,
      }),
      ledgerLog: { grow: nothing },
      cosign: nothing,
      receipts: nothing,
      signal: new AbortController().signal,
      onPublished: silent,
      buildOptions: {
        ...gather,
        keys: () => Promise.resolve(keys),
        stateDir: installation.dir,
        store: createDirectory({ publicDir: installation.dir, fence: 1, check: nothing }),
        check: nothing,
        assetsDir: null,
        repository: { remote: null, env: {} },
        log,
        lastVersion: () => Promise.resolve(0),
      },
    })
    const snapshots = createSnapshots()
    return {
      worker,
      build: async (nowMs: number): Promise<ReadonlyMap<string, unknown>> => {
        const world = await gatherWorld({ ...gather, publicKeys: keys.publicKeys, nowMs })
        return new Map(
          snapshots(world).map(({ path, body }) => [path, 'json' in body ? body.json : null]),
        )
      },
    }
  })
}

function adapter(rail: string, machine: Machine, process: Process, chance: Chance): AnyRailAdapter {
  return {
    rail,
    rule: { name: rail, version: '1', text: 'All payouts count.' },
    hosts: [],
    chains: [],
    hasCounters: false,
    lookUps: undefined,
    read: () => Promise.reject(new Error('not used')),
    recompute: () => {
      throw new Error('not used')
    },
    measure: () =>
      machine.answer(process, `${rail} answers`, () => {
        if (rail === 'x402' && chance.happens(0.3)) throw new Error('HTTP 500')
        const measured = figures({
          uniqueWorkers30d: 1 + chance.below(8),
          topWorkerShare: chance.pick([0.2, 0.5, 0.95] as const),
          tpv30dMicroUsdc: chance.pick([0, 1_000_000, 50_000_000_000] as const),
          lastPayoutAtMs: machine.nowMs() - 3_600_000,
        })
        const measurement = { figures: measured, removed30d: {}, notes: [], evidence: [] }
        return { measurement, counters: {} }
      }),
  }
}
