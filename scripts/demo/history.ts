/** Lets an invented ledger live for some months: the real service, jobs and rules under a stepped clock. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { checkPacts } from '../../builder/jobs/check-pacts.ts'
import { loadBuilderKeys, openJobs, openLog } from '../../builder/parts.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import { loadAuthoredPacts } from '../../builder/world/authored-pacts.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { createApp } from '../../src/app.ts'
import { checkHere } from '../../src/auth/check.ts'
import { parseConfig } from '../../src/config.ts'
import type { Config } from '../../src/config.ts'
import { createSerialQueue } from '../../src/core/concurrency.ts'
import type { Clock, Fetch } from '../../src/core/deps.ts'
import { evidencePath } from '../../src/core/evidence.ts'
import { createLog } from '../../src/core/log.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { followDispute } from '../../src/db/disputes.ts'
import { evidenceAfter, findEvidence } from '../../src/db/evidence.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { serve } from '../../src/http/serve.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { loadRegistries, loadServiceKeys } from '../../src/runtime/service.ts'
import { adaptersOn } from './adapters.ts'
import { planCalls } from './calls.ts'
import type { CalledLedger } from './calls.ts'
import { demoRails } from './rails.ts'
import { createWorld, nodeHostOf, noiseOf } from './world.ts'

/** The first poll of a rail reads the 30 days before. */
const firstDay = 95
const correctedDay = 34

export async function liveMonths(
  settings: Readonly<Record<string, string>>,
  { nowMs, correctPact }: { readonly nowMs: number; readonly correctPact: () => void },
): Promise<void> {
  const nodes = demoRails.map(({ chain }) => {
    return [`RPC_URL_${chain.toUpperCase()}`, `http://${nodeHostOf(chain)}`] as const
  })
  const config = parseConfig({
    variables: { ...settings, ...Object.fromEntries(nodes), KEYS: 'create' },
    readFile: () => '',
  })
  let timeMs = nowMs - firstDay * dayMs
  const clock: Clock = {
    now: () => timeMs,
    monotonic: () => performance.now(),
    sleep: () => Promise.resolve(),
  }
  const world = createWorld(nowMs, clock)
  const runtime = runtimeOf(clock, world.fetch)
  const database = await openDatabase({ ...config.database, heldLimitMs: hourMs })
  const keys = await loadBuilderKeys(config, runtime)
  const check = () => Promise.resolve()
  const store = createDirectory({ publicDir: config.PUBLIC_DIR, fence: 1, check })
  const ignore = () => undefined
  const jobsOn = (day: number, today: OpenDatabase) => {
    const parts = { database: today, keys, store }
    const events = { onRun: ignore, onBackfill: ignore, onPublished: ignore }
    const log = openLog(config, runtime, parts)
    const options = { ...parts, ...log, ...events, adapters: adaptersOn(day), check, move: false }
    return openJobs(config, runtime, options).jobs
  }
  const site = { url: config.SITE_URL, serviceName: config.SERVICE_NAME, isDemo: true }
  const { reference, stop, origin } = await startService(config, runtime, { database, site })
  const decide: CalledLedger['decide'] = async (id, event, text) => {
    await database.write((tx) => followDispute(tx, id, { event, at: isoTime(timeMs), text }))
  }
  const steps = await planCalls({
    origin,
    serviceName: site.serviceName,
    oaths: [...reference.oaths.values()],
    nowMs,
    deps: { clock, random: runtime.random, fetch },
    pay: world.pay,
    decide,
  })
  const authored = () => loadAuthoredPacts(join(config.DATA_DIR, 'authored/pacts'))
  for (let day = firstDay; day >= 0; day -= 1) {
    for (const step of steps.filter((one) => one.day >= day && one.day < day + 1)) {
      timeMs = nowMs - step.day * dayMs
      await step.run()
    }
    timeMs = nowMs - day * dayMs
    if (day === correctedDay) correctPact()
    await inOneCommit(database, async (today) => {
      const jobs = jobsOn(day, today)
      await jobs.poll('due')
      await jobs.checkReceipts()
      await jobs.expire()
      const reading = { database: today, chain: null, authored, signal: runtime.stopped }
      await checkPacts({ ...runtime, ...reading })
    })
  }
  await stop()
  // The builder would flush each of these files.
  mkdirSync(join(config.PUBLIC_DIR, 'evidence'), { recursive: true })
  for (const { sha256 } of await evidenceAfter(database.reader, 0)) {
    const body = await findEvidence(database.reader, sha256)
    if (body !== null) writeFileSync(join(config.PUBLIC_DIR, evidencePath(sha256)), body)
  }
  await database.close()
}

/** Each write alone would wait for the disk. */
async function inOneCommit(
  database: OpenDatabase,
  work: (database: OpenDatabase) => Promise<void>,
): Promise<void> {
  await database.write(async (tx) => {
    const queue = createSerialQueue()
    await work({ ...database, reader: tx, write: (write) => queue(() => write(tx)) })
  })
}

/** Starts the service on a free port, without documents, limits and mail. */
async function startService(
  config: Config,
  runtime: Runtime,
  { database, site }: Pick<InstalledDeps, 'database' | 'site'>,
) {
  const registries = await loadRegistries(config, runtime)
  const { keys, logSigner } = await loadServiceKeys(config, runtime)
  const app = createApp({
    log: runtime.log,
    store: {
      get: () => undefined,
      getFile: () => Promise.resolve(null),
      state: () => ({ manifest: null, problem: null, damaged: new Map() }),
      wasPublished: () => Promise.resolve(false),
    },
    limits: 'off',
    trustedProxies: [],
    health: () => Promise.resolve({ statusCode: 200, body: { status: 'ok' } }),
    obstacles: () => Promise.resolve([]),
    countView: () => undefined,
    actions: {
      ...runtime,
      database,
      site,
      reference: registries.current,
      signatures: { walletChain: () => undefined, check: checkHere },
      keys,
      ledgerLog: { signer: logSigner, witnesses: config.WITNESSES },
      outbound: {
        send: () => Promise.reject(new TypeError('a demo reads no network')),
        mail: () => Promise.resolve(),
      },
      payments: { mode: 'off', receiver: null, problems: () => [] },
      requestBuild: () => undefined,
    },
  })
  const { address, close } = await serve(app.listener, {
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    ...app,
  })
  const origin = `http://${address.host}:${address.port}`
  const stop = async () => void (await close(0))
  return { reference: registries.current(), origin, stop }
}

/** Reads the invented world at the time of the clock. Names and wallets are the same in every demo. */
function runtimeOf(clock: Clock, fetch: Fetch): Runtime {
  const noise = noiseOf('random')
  const never = new AbortController().signal
  return {
    clock,
    random: { bytes: (length) => Uint8Array.from({ length }, () => 256 * noise()), unit: noise },
    log: createLog({
      level: 'error',
      now: clock.now,
      write: (lines) => process.stderr.write(lines),
      defer: (flush) => setImmediate(flush),
    }),
    fetch,
    env: {},
    startReadings: () => () => Promise.reject(new Error('a demo measures nothing')),
    stopped: never,
    failed: never,
    fail: (reason) => {
      throw reason
    },
  }
}
