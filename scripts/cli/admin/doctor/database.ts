import { stat } from 'node:fs/promises'

import { sql } from 'kysely'

import { isoTime, minuteMs } from '../../../../src/core/time.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'
import { lastRuns } from '../../../../src/db/runs.ts'
import { recomputeScores } from '../../../../src/db/score-check.ts'
import { checkPages, checkReferences } from '../integrity.ts'
import { bad, good } from './check.ts'
import type { DoctorCheck, DoctorResult, DoctorContext } from './check.ts'

/** Four times the size at which SQLite truncates the log. A larger log means that checkpoints fail. */
const MAX_WAL_BYTES = 256 * 2 ** 20
/** Clocks of two processes may differ, and a clock may be under adjustment. */
const CLOCK_TOLERANCE_MS = 2 * minuteMs

export const databaseChecks: readonly DoctorCheck[] = [
  {
    what: 'database',
    remedy:
      'Stop service and builder. If the file is missing or damaged, run `admin restore <backup> --damaged`. If a later version wrote the file, run that version. If a migration is missing, start the service, which applies it.',
    run: async ({ database, databasePath, openError }) =>
      await Promise.resolve(
        database === null
          ? bad(openError ?? 'cannot be opened')
          : good(databasePath ?? database.engine),
      ),
  },
  // Runs before the slow checks, since the doctor reads the time at its start.
  {
    what: 'clock',
    remedy:
      'The clock of this machine was set back, or was wrong when rows were written. Correct it (`timedatectl`, NTP), since signed times are compared with it.',
    run: ifOpen(async ({ db }, { nowMs }) => {
      const { rows } = await sql<{ newest: string | null }>`
        select max(at) as newest from (
          select max(accepted_at) as at from receipts
          union all select max(started_at) from job_runs
          union all select max(created_at) from events
          union all select value from meta where key = 'restored_at'
        ) as times`.execute(db)
      const newest = rows[0]?.newest ?? null
      if (newest === null) return good('nothing to compare it with yet')
      return Date.parse(newest) <= nowMs + CLOCK_TOLERANCE_MS
        ? good(`${isoTime(nowMs)}, after the newest row`)
        : bad(`${isoTime(nowMs)}, but the newest row is from ${newest}`)
    }),
  },
  {
    what: 'pages of the database',
    remedy:
      'Stop service and builder, keep a copy of the file and run `admin restore` with the newest backup. Check the disk (dmesg, smartctl) before you use it again.',
    run: ifSqlite(({ db }) => checkPages(db)),
  },
  {
    what: 'references between rows',
    remedy:
      'The file was changed by hand. Undo the change (see DATA_DIR/operator.log and the shell history), or run `admin restore` with the newest backup.',
    run: ifSqlite(({ db }) => checkReferences(db)),
  },
  {
    what: 'scores against entries',
    remedy:
      '`admin scores check` names the wallets. Scores are computed from the entries. Stop both processes and set the rows of `reputation` to the recomputed values, or run `admin restore` with the newest backup.',
    mayChange: true,
    run: ifOpen(async ({ db }) => {
      const { wallets, differences } = await db
        .transaction()
        .execute(async (tx) => await recomputeScores(tx))
      return differences.length === 0
        ? good(`${wallets} wallets, each equal to the sum of its entries`)
        : bad(`${differences.length} figures differ from the sum of the entries`)
    }),
  },
  {
    what: 'write-ahead log',
    remedy:
      'A reader prevents checkpoints. `fuser -v` on the file lists the processes that have it open; stop those that should not. With WAL_CHECKPOINT=external, check that Litestream is running.',
    run: async ({ databasePath }) => {
      if (databasePath === null) return null
      const size = (await stat(`${databasePath}-wal`).catch(() => null))?.size ?? 0
      const detail = `${Math.ceil(size / 2 ** 20)} MiB`
      return size <= MAX_WAL_BYTES ? good(detail) : bad(detail)
    },
  },
  {
    what: 'jobs of the builder',
    remedy:
      'The detail is the reason. For `poll`, check outgoing connections and DNS; for `build`, the disk, keys and authored files; for `receipts` and `pacts`, the nodes in RPC_URL_…. The next run completes the work. If no run starts, restart the builder.',
    run: ifOpen(async ({ db }) => {
      const runs = [...(await lastRuns(db)).values()]
      const failed = runs.filter(({ outcome }) => outcome === 'failed')
      if (failed.length > 0) {
        return bad(failed.map(({ job, detail }) => `${job}: ${detail ?? 'failed'}`).join('; '))
      }
      const lines = runs.map(({ job, finishedAt }) => `${job} ${finishedAt ?? 'runs'}`)
      return good(lines.length === 0 ? 'no job has run yet' : lines.join(', '))
    }),
  },
]

function ifOpen(
  run: (database: OpenDatabase, context: DoctorContext) => Promise<DoctorResult>,
): DoctorCheck['run'] {
  return async (context) =>
    context.database === null ? null : await run(context.database, context)
}

/** PostgreSQL checks its pages and references itself. */
function ifSqlite(run: (database: OpenDatabase) => Promise<DoctorResult>): DoctorCheck['run'] {
  return async ({ database }) => (database?.engine === 'sqlite' ? await run(database) : null)
}
