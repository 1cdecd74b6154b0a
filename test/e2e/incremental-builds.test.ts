/**
 * A builder that remembers publishes what one that remembers nothing would. Whatever was written between two builds,
 * both build from the same past at the same time, and the manifests are compared: they hold the hash, the signature and
 * the time of every document.
 */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Transaction } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { build } from '../../builder/build.ts'
import type { BuildOptions } from '../../builder/build.ts'
import { createHistory } from '../../builder/history.ts'
import { emptyBuildMemory } from '../../builder/memory.ts'
import { loadKeys } from '../../builder/publish/keys.ts'
import { loadAuthoredRails } from '../../builder/rails/authored.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { stateOf, toStateRow, toStored, toStoredEvidence } from '../../builder/rails/stored.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { dayMs, hourMs, hourOf, isoTime, minuteMs } from '../../src/core/time.ts'
import { appendEvent } from '../../src/db/events.ts'
import { closeFlag, openFlag } from '../../src/db/flags.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { insertPoll, saveRailState } from '../../src/db/polls.ts'
import { insertReceipt } from '../../src/db/receipts.ts'
import { finishRun, startRun } from '../../src/db/runs.ts'
import type { Database } from '../../src/db/schema.ts'
import { addViews } from '../../src/db/views.ts'
import { putWorker } from '../../src/db/workers.ts'
import { figures } from '../support/figures.ts'
import { randomFrom } from '../support/random.ts'

const builds = 10
const timeoutMs = 600_000
const seed = 20_261_121
const startMs = Date.UTC(2026, 10, 21, 6)
const rails = ['apify', 'pact', 'x402']
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let root: string
let database: OpenDatabase

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'ledger-incremental-'))
  cpSync('data', join(root, 'data'), { recursive: true })
  for (const file of readdirSync(join(root, 'data/rails'))) {
    if (!rails.includes(file.replace('.json', ''))) rmSync(join(root, 'data/rails', file))
  }
  database = await openDatabase({ url: join(root, 'ledger.db') })
})
afterAll(async () => {
  await database.close()
  rmSync(root, { recursive: true })
})

/** One write each; `n` differs from call to call. */
type Write = (tx: Transaction<Database>, n: number, nowMs: number) => Promise<unknown>

const wallet = (n: number) => {
  const id = `0x${n.toString(16).padStart(40, '0')}`
  return { id, display: id, kind: 'evm' } as const
}
const flagKey = { kind: 'self_dealing', rail: 'x402', subject: 'x402' } as const

const writes: Readonly<Record<string, Write>> = {
  receipt: (tx, n, nowMs) =>
    insertReceipt(tx, {
      id: `rcp_${n.toString(16).padStart(64, '0')}`,
      kind: 'platform',
      rail: 'x402',
      chain: null,
      txHash: null,
      from: wallet(n + 1),
      to: wallet(n % 3),
      amountMicroUsdc: 1_000_000 * n,
      assetSymbol: 'USDC',
      occurredAt: isoTime(nowMs),
      summary: `Work ${n}`,
      jobId: null,
      evidenceUrl: null,
      platform: 'example_board',
      publicKey: null,
      submitter: wallet(n % 3).id,
      content: {},
      verification: 'unverified',
      verificationReason: null,
      onchain: 'none',
      acceptedAt: isoTime(nowMs),
    }),
  verdict: (tx) => tx.updateTable('receipts').set({ verification: 'verified' }).execute(),
  worker: (tx, n, nowMs) =>
    putWorker(tx, {
      wallet: wallet(n % 3),
      displayName: `Worker ${n}`,
      skills: ['api-reference-writing'],
      url: null,
      bio: null,
      receiptKey: null,
      now: isoTime(nowMs),
    }),
  poll: async (tx, n, nowMs) => {
    const rail = rails[n % rails.length] ?? ''
    const authored = (await loadAuthoredRails(join(root, 'data/rails'))).find(
      (each) => each.rail === rail,
    )
    if (authored === undefined) throw new Error(`no rail ${rail}`)
    const read30d = figures({ tpv30dMicroUsdc: 1_000_000 * n })
    const measurement = { figures: read30d, removed30d: {}, notes: [] }
    const pollId = await insertPoll(tx, {
      rail,
      startedAt: isoTime(nowMs),
      durationMs: n,
      outcome: 'ok',
      error: null,
      figures: toStored(measurement, {}),
      evidence: toStoredEvidence([]),
      rule: 'test v1',
      statusAfter: 'paying',
    })
    const state = { ...stateOf(authored, undefined), ...measurement, status: 'paying' } as const
    const read = { figuresSource: 'poll', figuresAsOfMs: nowMs, lastGoodPollAtMs: nowMs } as const
    await saveRailState(tx, toStateRow({ ...state, ...read, lastPollAtMs: nowMs }, pollId, {}))
  },
  event: (tx, n, nowMs) =>
    appendEvent(tx, {
      id: `evt_${n}`,
      kind: 'rail_transition',
      rail: 'x402',
      severity: 'info',
      title: `Event ${n}`,
      data: { from: 'dormant', to: 'paying' },
      createdAt: isoTime(nowMs),
    }),
  'flag opened': (tx, n, nowMs) =>
    openFlag(tx, {
      ...flagKey,
      id: `flag_${n}`,
      severity: 'warning',
      title: `Flag ${n}`,
      evidence: { n },
      openedAt: isoTime(nowMs),
    }),
  'flag closed': (tx, _n, nowMs) => closeFlag(tx, flagKey, isoTime(nowMs), 'It was looked at.'),
  views: (tx, n, nowMs) => addViews(tx, [{ slug: 'first', hour: hourOf(nowMs), views: n }]),
  run: async (tx, n, nowMs) => {
    const run = await startRun(tx, 'poll', isoTime(nowMs))
    const end = { finishedAt: isoTime(nowMs + n), outcome: 'ok', detail: `Run ${n}` } as const
    await finishRun(tx, run, end)
  },
  'a word of an author': (_tx, n) => {
    const file = join(root, 'data/rails/apify.json')
    const rail = z.looseObject({}).parse(JSON.parse(readFileSync(file, 'utf8')))
    writeFileSync(file, JSON.stringify({ ...rail, notes: `Note ${n}.` }))
    return Promise.resolve()
  },
}

const pauses = [minuteMs, minuteMs, 11 * minuteMs, 7 * hourMs, 8 * dayMs]

test(
  'builds that remember publish byte for byte what builds that remember nothing would',
  async () => {
    const keys = await loadKeys({ dir: join(root, 'keys'), nowMs: startMs })
    const random = randomFrom(seed)
    const pick = <T>(items: readonly T[]): T => {
      const item = items[Math.floor(random() * items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    }
    const optionsIn = (stateDir: string, nowMs: number): BuildOptions => ({
      database,
      history,
      dataDir: join(root, 'data'),
      adapters: railAdapters,
      site,
      pollEveryMs: 6 * hourMs,
      keys,
      exchangeKeys: () => Promise.resolve(exchangeKeys),
      stateDir,
      publicDir: join(stateDir, 'public'),
      assetsDir: null,
      repository: { remote: null, env: { PATH: process.env['PATH'] ?? '' }, check: 'quick' },
      nowMs,
      log: quiet,
    })
    const history = createHistory(database.reader)
    const site = {
      url: 'https://ledger.test',
      serviceName: 'agent-income-ledger',
      version: '0.0.0',
      historyUrl: null,
      payments: { settlement: 'off', receiver: null },
    } as const
    const exchangeKeys = { active: signingKeyFromSeed(Buffer.alloc(32, 7)), retired: [] }
    const remembering = join(root, 'remembering')
    const memory = emptyBuildMemory({ dataDir: join(root, 'data'), stateDir: remembering })
    let nowMs = startMs
    let n = 0
    const done: string[] = []
    for (let at = 0; at < builds; at += 1) {
      const fresh = join(root, 'fresh')
      rmSync(fresh, { recursive: true, force: true })
      if (at > 0) cpSync(remembering, fresh, { recursive: true, verbatimSymlinks: true })
      const { published } = await build({ ...optionsIn(remembering, nowMs), memory })
      const other = await build({
        ...optionsIn(fresh, nowMs),
        history: createHistory(database.reader),
      })
      expect(other.published.manifest.documents, done.join(', ')).toEqual(
        published.manifest.documents,
      )

      nowMs += pick(pauses)
      for (let write = Math.floor(random() * 3); write > 0; write -= 1) {
        const name = pick(Object.keys(writes))
        n += 1
        done.push(name)
        await database.write((tx) => writes[name]?.(tx, n, nowMs) ?? Promise.resolve())
      }
    }
  },
  timeoutMs,
)
