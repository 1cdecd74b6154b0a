/** A data folder and a ledger whose rails were polled four times a day for a year: the same ones every time. */
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Transaction } from 'kysely'

import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import type { AuthoredRail } from '../../builder/world/authored-rails.ts'
import {
  stateOf,
  toStateRow,
  toStored,
  toStoredEvidence,
} from '../../builder/world/stored-rails.ts'
import type { Figures } from '../../src/core/figures.ts'
import { statusOf } from '../../src/core/rail-status.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import { insertPoll, saveRailState, toPollRow } from '../../src/db/polls.ts'
import type { NewPoll } from '../../src/db/polls.ts'
import type { Database } from '../../src/db/schema.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { randomFrom } from '../../test/support/random.ts'
import { copyLedger } from './ledger.ts'
import type { SuiteContext } from './suite.ts'

export const railsCount = 60
const pollsPerDay = 4
const pollsPerRail = pollsPerDay * 365
const failureEvery = 50
export const pollsCount = railsCount * pollsPerRail

export const nowMs = Date.UTC(2026, 10, 21, 6)

/** Authored files, with copies of rails or without some, so that there are 60. */
export const dataDirIn = (dir: string): string => join(dir, 'data')
export const databaseIn = (dir: string): string => join(dir, 'ledger.db')

export async function makeYearOfPolls(context: SuiteContext, receipts: number): Promise<void> {
  const { dir } = context
  copyAuthored(dataDirIn(dir))
  await copyLedger(context, receipts, databaseIn(dir))
  const rails = await loadAuthoredRails(join(dataDirIn(dir), 'rails'))
  const database = await openDatabase({ url: databaseIn(dir) })
  try {
    await database.write(registerWorkers)
    for (const [at, rail] of rails.entries()) await database.write((tx) => addYear(tx, rail, at))
  } finally {
    await database.close()
  }
}

async function registerWorkers(tx: Transaction<Database>): Promise<void> {
  await sql`
    insert into workers (wallet, display, display_name, skills, registered_at, updated_at)
    select wallet, display, 'Worker ' || substr(wallet, 3), '["api-reference-writing","data-labelling"]',
      first_receipt_at, first_receipt_at
    from reputation order by wallet`.execute(tx)
}

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
  const left = [join(source, 'run'), join(source, 'rails')]
  cpSync(source, dataDir, { recursive: true, filter: (path) => !left.includes(path) })
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

async function addYear(tx: Transaction<Database>, authored: AuthoredRail, seed: number) {
  const random = randomFrom(seed)
  const below = (end: number): number => Math.floor(random() * end)
  let figures = firstFigures(below)
  let state = stateOf(authored, undefined)
  const polls: NewPoll[] = []
  for (let at = 1; at <= pollsPerRail; at += 1) {
    const startedAtMs = nowMs - (pollsPerRail - at) * (dayMs / pollsPerDay)
    const failed = at % failureEvery === 0 && at < pollsPerRail
    figures = nextFigures(figures, startedAtMs, below)
    const status = statusOf(figures, authored.status_basis).status ?? state.status
    const durationMs = 200 + below(4000)
    const measurement = { figures, removed30d: { self_dealing: 3 }, notes: [] }
    const evidence = { url: authored.reference_url, sha256: 'ab'.repeat(32), items: at }
    polls.push({
      rail: authored.rail,
      startedAt: isoTime(startedAtMs),
      durationMs,
      outcome: failed ? 'failed' : 'ok',
      error: failed ? 'not read within 120 s; the next poll goes on' : null,
      figures: failed ? null : toStored(measurement, {}),
      evidence: toStoredEvidence([{ kind: 'http', ...evidence }]),
      rule: 'bench v1',
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

function firstFigures(below: (end: number) => number): Figures {
  const tpv30dMicroUsdc = below(5e10)
  return {
    tpv30dMicroUsdc,
    tpv7dMicroUsdc: Math.floor(tpv30dMicroUsdc / 4),
    tpv30dRawMicroUsdc: Math.floor(tpv30dMicroUsdc * 1.2),
    tpv7dRawMicroUsdc: Math.floor(tpv30dMicroUsdc / 3),
    uniqueCreators30d: 6 + below(400),
    uniqueWorkers30d: 4 + below(900),
    topWorkerShare: below(100) / 100,
    creatorsWithBudget30d: null,
    activity30d: 40,
    lastPayoutAtMs: nowMs,
  }
}

/** All sums move together by up to 3 % from poll to poll. */
function nextFigures(figures: Figures, atMs: number, below: (end: number) => number): Figures {
  const factor = 0.97 + below(6000) / 1e5
  const moved = (value: number | null) => (value === null ? null : Math.round(value * factor))
  return {
    ...figures,
    tpv30dMicroUsdc: moved(figures.tpv30dMicroUsdc),
    tpv7dMicroUsdc: moved(figures.tpv7dMicroUsdc),
    tpv30dRawMicroUsdc: moved(figures.tpv30dRawMicroUsdc),
    tpv7dRawMicroUsdc: moved(figures.tpv7dRawMicroUsdc),
    topWorkerShare: Math.min(0.99, (figures.topWorkerShare ?? 0) * factor),
    lastPayoutAtMs: atMs - below(dayMs),
  }
}
