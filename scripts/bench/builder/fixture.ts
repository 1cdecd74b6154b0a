/** A ledger whose rails were polled four times a day for a year: the same one every time. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Transaction } from 'kysely'

import { loadAuthoredRails } from '../../../builder/world/authored-rails.ts'
import type { AuthoredRail } from '../../../builder/world/authored-rails.ts'
import {
  stateOf,
  toStateRow,
  toStored,
  toStoredEvidence,
} from '../../../builder/world/stored-rails.ts'
import type { Figures } from '../../../src/core/figures.ts'
import { statusOf } from '../../../src/core/rail-status.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { insertPoll, saveRailState, toPollRow } from '../../../src/db/polls.ts'
import type { NewPoll } from '../../../src/db/polls.ts'
import type { Database } from '../../../src/db/schema.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { copyLedger } from '../start/ledger.ts'
import type { Shared } from '../suite.ts'

export const railsCount = 60
const pollsPerDay = 4
const days = 365
/** One poll in fifty fails, as sources do. */
const failureEvery = 50
const pollsPerRail = pollsPerDay * days
export const pollsCount = railsCount * pollsPerRail

/** The time at which the last poll was made and the build runs. */
export const nowMs = Date.UTC(2026, 10, 21, 6)

export interface Fixture {
  /** Authored files: the real ones, rails copied or left out until there are 60. */
  readonly dataDir: string
  readonly databasePath: string
}

export function fixtureIn(dir: string): Fixture {
  return { dataDir: join(dir, 'data'), databasePath: join(dir, 'ledger.db') }
}

/** With so many receipts, of at most `workersCount` workers. */
export async function makeFixture(dir: string, receipts: number, shared: Shared): Promise<Fixture> {
  const fixture = fixtureIn(dir)
  copyAuthored(fixture.dataDir)
  await copyLedger(shared, receipts, fixture.databasePath)
  const rails = await loadAuthoredRails(join(fixture.dataDir, 'rails'))
  const database = await openDatabase({ url: fixture.databasePath })
  try {
    await database.write(registerWorkers)
    for (const [at, rail] of rails.entries()) {
      await database.write((tx) => addYear(tx, rail, at))
    }
  } finally {
    await database.close()
  }
  return fixture
}

/** Everybody who has receipts, by a name and with two skills. */
async function registerWorkers(tx: Transaction<Database>): Promise<void> {
  await sql`
    insert into workers (wallet, display, display_name, skills, registered_at, updated_at)
    select wallet, display, 'Worker ' || substr(wallet, 3), '["api-reference-writing","data-labelling"]',
      first_receipt_at, first_receipt_at
    from reputation order by wallet`.execute(tx)
}

/** One more receipt, such as the newest one. */
export async function addReceipt(tx: Transaction<Database>): Promise<void> {
  await sql`
    insert into receipts (id, kind, rail, chain, tx_hash, from_wallet, from_display, to_wallet, to_display,
      amount_micro_usdc, asset_symbol, occurred_at, summary, platform, submitter, content, verification, onchain,
      accepted_at)
    select 'rcp_' || lower(hex(randomblob(32))), kind, rail, chain, '0x' || lower(hex(randomblob(32))), from_wallet,
      from_display, to_wallet, to_display, amount_micro_usdc, asset_symbol, occurred_at, summary, platform,
      submitter, content, verification, onchain, accepted_at
    from receipts order by seq desc limit 1`.execute(tx)
}

function copyAuthored(dataDir: string): void {
  const source = join(packageRoot, 'data')
  mkdirSync(dataDir)
  for (const name of readdirSync(source)) {
    if (name !== 'run' && name !== 'rails') {
      cpSync(join(source, name), join(dataDir, name), { recursive: true })
    }
  }
  mkdirSync(join(dataDir, 'rails'))
  const files = readdirSync(join(source, 'rails')).sort()
  for (let at = 0; at < railsCount; at += 1) {
    const file = files[at % files.length] ?? ''
    const slug = file.replace('.json', '')
    const copy = at < files.length ? slug : `${slug}_${at}`
    const text = readFileSync(join(source, 'rails', file), 'utf8')
    const renamed = text.replace(`"rail": "${slug}"`, `"rail": "${copy}"`)
    writeFileSync(join(dataDir, 'rails', `${copy}.json`), renamed)
  }
}

async function addYear(
  tx: Transaction<Database>,
  authored: AuthoredRail,
  seed: number,
): Promise<void> {
  const random = randomFrom(seed)
  const rule = 'bench v1'
  let figures = firstFigures(random)
  let state = stateOf(authored, undefined)
  const polls: NewPoll[] = []
  for (let at = 0; at < pollsPerRail; at += 1) {
    const startedAtMs = nowMs - (pollsPerRail - 1 - at) * (dayMs / pollsPerDay)
    const isLast = at === pollsPerRail - 1
    const failed = at % failureEvery === failureEvery - 1 && !isLast
    figures = nextFigures(figures, startedAtMs, random)
    const status = statusOf(figures, authored.status_basis).status ?? state.status
    const durationMs = 200 + Math.floor(random() * 4000)
    const measurement = { figures, removed30d: { self_dealing: 3 }, notes: [] }
    polls.push({
      rail: authored.rail,
      startedAt: isoTime(startedAtMs),
      durationMs,
      outcome: failed ? 'failed' : 'ok',
      error: failed ? 'not read within 120 s; the next poll goes on' : null,
      figures: failed ? null : toStored(measurement, {}),
      evidence: toStoredEvidence([
        { kind: 'http', url: authored.reference_url, sha256: 'ab'.repeat(32), items: at },
      ]),
      rule,
      statusAfter: status,
    })
    state = {
      ...state,
      ...measurement,
      status,
      statusSinceMs: status === state.status ? state.statusSinceMs : startedAtMs,
      figuresSource: 'poll',
      figuresAsOfMs: startedAtMs,
      lastPollAtMs: startedAtMs,
      lastGoodPollAtMs: startedAtMs,
      lastDurationMs: durationMs,
    }
  }
  const last = polls.pop()
  if (last === undefined) throw new Error('nothing was polled')
  await tx.insertInto('polls').values(polls.map(toPollRow)).execute()
  await saveRailState(tx, toStateRow(state, await insertPoll(tx, last), {}))
}

function firstFigures(random: () => number): Figures {
  const tpv30dMicroUsdc = Math.floor(random() * 5e10)
  return {
    tpv30dMicroUsdc,
    tpv7dMicroUsdc: Math.floor(tpv30dMicroUsdc / 4),
    tpv30dRawMicroUsdc: Math.floor(tpv30dMicroUsdc * 1.2),
    tpv7dRawMicroUsdc: Math.floor(tpv30dMicroUsdc / 3),
    uniqueCreators30d: 6 + Math.floor(random() * 400),
    uniqueWorkers30d: 4 + Math.floor(random() * 900),
    topWorkerShare: random(),
    creatorsWithBudget30d: null,
    activity30d: 40,
    lastPayoutAtMs: nowMs,
  }
}

/** A few per cent up or down from poll to poll, in step. */
function nextFigures(figures: Figures, atMs: number, random: () => number): Figures {
  const factor = 0.97 + random() * 0.06
  const moved = (value: number | null) => (value === null ? null : Math.round(value * factor))
  return {
    ...figures,
    tpv30dMicroUsdc: moved(figures.tpv30dMicroUsdc),
    tpv7dMicroUsdc: moved(figures.tpv7dMicroUsdc),
    tpv30dRawMicroUsdc: moved(figures.tpv30dRawMicroUsdc),
    tpv7dRawMicroUsdc: moved(figures.tpv7dRawMicroUsdc),
    topWorkerShare: Math.min(0.99, (figures.topWorkerShare ?? 0) * factor),
    lastPayoutAtMs: atMs - Math.floor(random() * dayMs),
  }
}

/** Mulberry32: the same numbers for the same seed, on every machine. */
function randomFrom(seed: number): () => number {
  let state = (seed + 1) * 0x9e_37_79_b9
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
