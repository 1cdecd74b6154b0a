import { stat, statfs } from 'node:fs/promises'

import type { Kysely } from 'kysely'
import { sql } from 'kysely'

import { isErrno } from '../core/errno.ts'
import { DatabaseBrokenError, BusyError, DiskFullError } from '../db/errors.ts'
import type { OpenDatabase } from '../db/open.ts'
import { loadRailStates } from '../db/polls.ts'
import { countRows, selectRecords } from '../db/records.ts'
import { jobNames, lastSuccesses } from '../db/runs.ts'
import type { Database } from '../db/schema.ts'
import type { WriteObserver } from '../db/writer.ts'
import { observe } from './meter.ts'
import type { Meter } from './meter.ts'

export function createWriteObserver(meter: Meter): WriteObserver {
  const queue = meter.gauge('ledger_write_queue', {})
  const size = meter.histogram('ledger_write_group_size', {})
  const seconds = meter.histogram('ledger_write_commit_seconds', {})
  // Created at the start, since an alert would miss a failure with which its counter first appears.
  for (const cause of ['busy', 'full', 'broken', 'unavailable']) {
    meter.counter('ledger_write_failures_total', { cause })
  }
  return {
    waiting: (writes) => {
      queue.value = writes
    },
    committed: (writes, ms) => {
      observe(size, writes)
      observe(seconds, ms / 1000)
    },
    failed: (error) => {
      meter.counter('ledger_write_failures_total', { cause: causeOf(error) }).value += 1
    },
  }
}

function causeOf(error: unknown): 'busy' | 'full' | 'broken' | 'unavailable' {
  if (error instanceof BusyError) return 'busy'
  if (error instanceof DiskFullError) return 'full'
  return error instanceof DatabaseBrokenError ? 'broken' : 'unavailable'
}

export async function readDisk(
  meter: Meter,
  places: { readonly database: OpenDatabase; readonly data: string; readonly public: string },
): Promise<void> {
  const { path, reader } = places.database
  if (path === null) {
    const { rows } = await sql<{ size: number }>`
      select pg_database_size(current_database()) as size
    `.execute(reader)
    meter.gauge('ledger_database_bytes', { file: 'database' }).value = rows[0]?.size ?? 0
  }
  const files = path === null ? {} : { database: path, wal: `${path}-wal` }
  for (const [file, path] of Object.entries(files)) {
    const found = await stat(path).catch((error: unknown) => {
      // There is no log before the first write or after a checkpoint on close.
      if (file === 'wal' && isErrno(error, 'ENOENT')) return null
      throw error
    })
    meter.gauge('ledger_database_bytes', { file }).value = found?.size ?? 0
  }
  for (const [place, path] of Object.entries({ data: places.data, public: places.public })) {
    const { bavail, blocks, bsize } = await statfs(path)
    meter.gauge('ledger_disk_free_bytes', { place }).value = bavail * bsize
    meter.gauge('ledger_disk_size_bytes', { place }).value = blocks * bsize
  }
}

/** Reads counts from rows, outside the writer. */
export async function readRows(meter: Meter, { reader }: OpenDatabase): Promise<void> {
  meter.clear('ledger_rail_last_good_poll_timestamp_seconds')
  meter.clear('ledger_rail_failures')
  for (const [rail, { state }] of await loadRailStates(reader)) {
    const { lastGoodPollAtMs, consecutiveFailures } = state
    meter.gauge('ledger_rail_failures', { rail }).value = consecutiveFailures
    if (lastGoodPollAtMs !== null) {
      const name = 'ledger_rail_last_good_poll_timestamp_seconds'
      meter.gauge(name, { rail }).value = lastGoodPollAtMs / 1000
    }
  }
  for (const [job, at] of await lastSuccesses(reader, jobNames)) {
    jobSucceeded(meter, job, Date.parse(at) / 1000)
  }
  for (const [state, rows] of await paymentStates(reader)) {
    meter.gauge('ledger_payments', { state }).value = rows
  }
  const pending = selectRecords(reader, 'alert_deliveries', { status: 'pending' })
  const waiting = await countRows(pending.where('next_attempt_at', 'is not', null))
  meter.gauge('ledger_webhooks_pending', {}).value = waiting
}

/** Keeps the later of two sources. */
export function jobSucceeded(meter: Meter, job: string, atSeconds: number): void {
  const cell = meter.gauge('ledger_job_last_success_timestamp_seconds', { task: job })
  cell.value = Math.max(cell.value, atSeconds)
}

async function paymentStates(db: Kysely<Database>): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('payments')
    .select(({ fn }) => ['state', fn.countAll<number>().as('rows')])
    .groupBy('state')
    .execute()
  const none = ['reserved', 'submitted', 'settled', 'reconcile', 'failed'].map(
    (state): [string, number] => [state, 0],
  )
  return new Map([...none, ...rows.map(({ state, rows: n }): [string, number] => [state, n])])
}
