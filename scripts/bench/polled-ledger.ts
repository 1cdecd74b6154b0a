/** A database whose 60 rails were polled four times a day for a year: the same one every time. */
import { join } from 'node:path'

import { sql } from 'kysely'
import type { Transaction } from 'kysely'

import { railAdapters } from '../../builder/rails/index.ts'
import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import type { AuthoredRail } from '../../builder/world/authored-rails.ts'
import { createHistory } from '../../builder/world/history.ts'
import { stateOf, toStateRow, toStored } from '../../builder/world/stored-rails.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { version } from '../../src/contract/version.ts'
import { decidePoll } from '../../src/core/rail-poll.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import { insertPoll, saveRailState } from '../../src/db/polls.ts'
import type { NewPoll } from '../../src/db/polls.ts'
import { toRow } from '../../src/db/rows.ts'
import type { Database } from '../../src/db/schema.ts'
import { packageRoot } from '../../src/runtime/runtime.ts'
import { inventMeasurement, silentLog } from '../demo/polls.ts'
import { makeLedger } from './ledger.ts'

const pollEveryMs = dayMs / 4
const pollsPerRail = 4 * 365
const dataDir = join(packageRoot, 'data')
const failureEvery = 50
const durationMs = 1200
export const nowMs = Date.UTC(2026, 10, 21, 6)
const databaseIn = (dir: string): string => join(dir, 'ledger.db')

/** Fills a directory with a ledger of `receipts` receipts. */
export async function makePolledLedger(dir: string, receipts: number): Promise<void> {
  await makeLedger(databaseIn(dir), receipts)
  const rails = await loadAuthoredRails(join(dataDir, 'rails'))
  const database = await openDatabase({ url: databaseIn(dir) })
  try {
    await database.write(registerWorkers)
    for (const rail of rails) await database.write((tx) => addPolls(tx, rail))
  } finally {
    await database.close()
  }
}

/** Returns the options of a build that reads the directory. */
export async function openPolledLedger(dir: string) {
  const database = await openDatabase({ url: databaseIn(dir) })
  const active = signingKeyFromSeed(Buffer.alloc(32, 7))
  return {
    database,
    history: createHistory(database.reader),
    dataDir,
    adapters: railAdapters,
    site: {
      url: 'https://ledger.test',
      serviceName: 'agent-income-ledger',
      version,
      historyUrl: null,
      payments: { settlement: 'off', receiver: null },
    },
    pollEveryMs,
    exchangeKeys: () => Promise.resolve({ active, retired: [] }),
    assetsDir: null,
    log: silentLog,
  } as const
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

async function addPolls(tx: Transaction<Database>, authored: AuthoredRail): Promise<void> {
  const { rail, display_name: displayName, status_basis: basis } = authored
  const evidence = { kind: 'http', url: authored.reference_url, sha256: 'ab'.repeat(32) } as const
  let state = stateOf(authored, undefined)
  const polls: NewPoll[] = []
  for (let at = 1; at <= pollsPerRail; at += 1) {
    const startedAtMs = nowMs - (pollsPerRail - at) * pollEveryMs
    const failed = at % failureEvery === 0 && at < pollsPerRail
    const measurement = failed ? null : inventMeasurement(rail, 20_000, startedAtMs)
    const outcome =
      measurement === null
        ? ({ kind: 'failed', error: 'HTTP 503', impossible: [] } as const)
        : ({ kind: 'good', measurement } as const)
    const facts = { displayName, basis, startedAtMs, durationMs, pollEveryMs }
    state = decidePoll(state, outcome, facts).state
    polls.push({
      rail,
      startedAt: isoTime(startedAtMs),
      durationMs,
      outcome: failed ? 'failed' : 'ok',
      error: state.lastError,
      figures: measurement === null ? null : toStored(measurement, {}),
      evidence: { pointers: [{ ...evidence, items: at }] },
      rule: 'bench v1',
      bundle: null,
      statusAfter: state.status,
    })
  }
  const last = polls.pop()
  if (last === undefined) throw new Error('nothing was polled')
  await tx
    .insertInto('polls')
    .values(polls.map((poll) => toRow<'polls'>(poll)))
    .execute()
  await saveRailState(tx, toStateRow(state, await insertPoll(tx, last)))
}
