/** Lets an invented ledger live for some months: the real service, jobs and rules under a stepped clock. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { checkPacts } from '../../builder/jobs/check-pacts.ts'
import { openJobs, openLog } from '../../builder/parts.ts'
import { createDirectory } from '../../builder/publish/store/directory.ts'
import { loadAuthoredPacts } from '../../builder/world/authored-pacts.ts'
import { escrowKey } from '../../builder/world/pacts.ts'
import type { InstalledDeps } from '../../src/actions/deps.ts'
import { createApp } from '../../src/app.ts'
import { checkHere } from '../../src/auth/check.ts'
import { createClient } from '../../src/client/client.ts'
import { parseConfig } from '../../src/config.ts'
import type { Config } from '../../src/config.ts'
import { createSerialQueue } from '../../src/core/concurrency.ts'
import { evidencePath } from '../../src/core/evidence.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { followDispute } from '../../src/db/disputes.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { saveReading } from '../../src/db/pacts.ts'
import { serve } from '../../src/http/serve.ts'
import { openLedgerKeys } from '../../src/runtime/keys.ts'
import { startRuntime, systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { connectOutbound, loadRegistries, loadServiceKeys } from '../../src/runtime/service.ts'
import { planCalls } from './calls.ts'
import { inventEscrow } from './escrow.ts'
import { noiseOf } from './payments.ts'
import { demoRails, newestRail } from './rails.ts'
import { createSources, demoAdapters, nodeUrlOf } from './sources.ts'

/** The first poll of a rail reads the 30 days before. */
const firstDay = 95
/** Weekly, and daily at the end: most of the time of a demo is spent on polls. */
const isPolled = (day: number) => day < 7 || (firstDay - day) % 7 === 0
const decisions = z.enum(['answered', 'upheld', 'rejected'])

export async function liveMonths(
  settings: Readonly<Record<string, string>>,
  nowMs: number,
  correctPacts: () => void,
): Promise<void> {
  const nodes = demoRails.map(({ chain }) => {
    return [`RPC_URL_${chain.toUpperCase()}`, nodeUrlOf(chain)] as const
  })
  const variables = { ...settings, ...Object.fromEntries(nodes), KEYS: 'create' }
  const config = parseConfig({ variables, readFile: () => '' })
  let timeMs = nowMs - firstDay * dayMs
  const clock = { ...systemClock, now: () => timeMs, sleep: () => Promise.resolve() }
  const sources = createSources(nowMs, clock)
  // Ids are the same in every demo.
  const unit = noiseOf('random')
  const random = {
    unit,
    bytes: (length: number) => Uint8Array.from({ length }, () => 256 * unit()),
  }
  const runtime = { ...startRuntime({ LOG_LEVEL: 'error' }), clock, random, fetch: sources.fetch }
  const database = await openDatabase({ ...config.database, heldLimitMs: hourMs })
  const keys = await openLedgerKeys(config, database, { ...runtime, random: systemRandom })
  const check = () => Promise.resolve()
  const store = createDirectory({ publicDir: config.PUBLIC_DIR, fence: 1, check })
  const ignore = () => undefined
  const fixed = { onRun: ignore, onBackfill: ignore, onPublished: ignore, check, move: false }
  const jobsOn = (day: number, today: OpenDatabase) => {
    const parts = { database: today, keys, store }
    const adapters = demoAdapters.filter(({ rail }) => day === 0 || rail !== newestRail)
    const log = openLog(config, runtime, parts)
    return openJobs(config, runtime, { ...parts, ...log, ...fixed, adapters }).jobs
  }
  const site = { url: config.SITE_URL, serviceName: config.SERVICE_NAME, isDemo: true }
  const { reference, stop, origin } = await startService(config, runtime, { database, site })
  const authored = () => loadAuthoredPacts(join(config.DATA_DIR, 'authored/pacts'))
  const readEscrow = async () => {
    const answer = await inventEscrow(await authored(), nowMs)
    await database.write((tx) => saveReading(tx, escrowKey, -1, answer))
  }
  const steps: { day: number; run: () => unknown }[] = [
    { day: 34, run: correctPacts },
    { day: 8, run: readEscrow },
  ]
  await planCalls({
    clientOf: (signer) => createClient({ baseUrl: origin, ...site, clock, random, fetch, signer }),
    oaths: [...reference.oaths.values()],
    nowMs,
    plan: (day, run) => void steps.push({ day, run }),
    pay: sources.pay,
    decide: async (id, end, text) => {
      const step = { event: decisions.parse(end), at: isoTime(timeMs), text }
      await database.write((tx) => followDispute(tx, id, step))
    },
  })
  steps.sort((a, b) => b.day - a.day)
  try {
    for (let day = firstDay; day >= 0; day -= 1) {
      runtime.stopped.throwIfAborted()
      for (const step of steps.filter((one) => one.day >= day && one.day < day + 1)) {
        timeMs = nowMs - step.day * dayMs
        await step.run()
      }
      timeMs = nowMs - day * dayMs
      await inOneCommit(database, async (today) => {
        const jobs = jobsOn(day, today)
        if (isPolled(day)) await jobs.poll('due')
        await jobs.checkReceipts()
        await jobs.statements()
        await jobs.expire()
        const reading = { database: today, chain: null, authored, signal: runtime.stopped }
        await checkPacts({ ...runtime, ...reading })
      })
    }
    // The builder would flush each of these files.
    mkdirSync(join(config.PUBLIC_DIR, 'evidence'), { recursive: true })
    const evidence = database.reader.selectFrom('evidence').select(['sha256', 'body'])
    for (const { sha256, body } of await evidence.execute()) {
      writeFileSync(join(config.PUBLIC_DIR, evidencePath(sha256)), body)
    }
  } finally {
    await stop()
    await database.close()
  }
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
  const { keys, logSigner } = await loadServiceKeys(config, runtime, database)
  const { outbound, payments } = await connectOutbound(config, runtime, null)
  const app = createApp({
    log: runtime.log,
    store: {
      get: () => undefined,
      getFile: () => Promise.resolve(null),
      state: () => ({ manifest: null, problem: null, damaged: new Map() }),
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
      outbound,
      payments,
      requestBuild: () => undefined,
    },
  })
  const place = { host: '127.0.0.1', port: 0, clock: systemClock }
  const { address, close } = await serve(app.listener, { ...place, ...app })
  const origin = `http://${address.host}:${address.port}`
  const stop = async () => void (await close(0))
  return { reference: registries.current(), origin, stop }
}
