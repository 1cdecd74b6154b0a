/** The file, its rows, and what jobs wrote into it. */
import { stat } from 'node:fs/promises'

import { sql } from 'kysely'

import { isoTime, minuteMs } from '../../../../src/core/time.ts'
import { lastRuns } from '../../../../src/db/runs.ts'
import { recomputeScores } from '../../../../src/db/score-check.ts'
import { brokenReferences, brokenPages } from '../integrity.ts'
import { bad, well } from './check.ts'
import type { DoctorCheck, Look, Patient } from './check.ts'

/** Four times the size at which SQLite cuts it back: somebody keeps it from being written home. */
const MAX_WAL_BYTES = 256 * 2 ** 20
/** Clocks of two processes, and of a machine that is being set right. */
const CLOCK_TOLERANCE_MS = 2 * minuteMs

export const databaseChecks: readonly DoctorCheck[] = [
  {
    what: 'database',
    remedy:
      'Stop service and builder. Where the file is missing or damaged: `admin restore <backup> --damaged`. Where it is of a later version: run that version. Where a step is missing: start the service, which adds it.',
    look: async ({ database, databasePath, refusal }) =>
      await Promise.resolve(
        database === null ? bad(refusal ?? 'cannot be opened') : well(databasePath),
      ),
  },
  // Before whatever takes long: its time was taken at the start.
  {
    what: 'clock',
    remedy:
      'The clock of this machine has gone back, or was wrong when rows were written: set it right (`timedatectl`, NTP). Signed writes are judged by it.',
    look: ifOpen(async ({ db }, { nowMs }) => {
      const { rows } = await sql<{ newest: string | null }>`
        select max(at) as newest from (
          select max(accepted_at) as at from receipts
          union all select max(started_at) from job_runs
          union all select max(created_at) from events
          union all select value from meta where key = 'restored_at'
        )`.execute(db)
      const newest = rows[0]?.newest ?? null
      if (newest === null) return well('nothing to hold it against yet')
      return Date.parse(newest) <= nowMs + CLOCK_TOLERANCE_MS
        ? well(`${isoTime(nowMs)}, after all that was written`)
        : bad(`${isoTime(nowMs)}, but something was written at ${newest}`)
    }),
  },
  {
    what: 'pages of the database',
    remedy:
      'Stop service and builder, keep a copy of the file, and `admin restore` the newest backup; look at the disk (dmesg, smartctl) before it is used again.',
    look: ifOpen(async ({ db }) => {
      const problems = await brokenPages(db)
      return problems.length === 0 ? well('every page reads well') : bad(problems.join('; '))
    }),
  },
  {
    what: 'references between rows',
    remedy:
      'Somebody wrote to the file by hand: undo that (DATA_DIR/operator.log and the shell’s history tell), or `admin restore` the newest backup.',
    look: ifOpen(async ({ db }) => {
      const tables = await brokenReferences(db)
      return tables.length === 0 ? well('none is broken') : bad(`broken in ${tables.join(', ')}`)
    }),
  },
  {
    what: 'scores against entries',
    remedy:
      '`admin scores check` names the wallets. Scores follow from the entries: with both processes stopped, correct the rows of `reputation` to what it says, or `admin restore` the newest backup.',
    moves: true,
    look: ifOpen(async ({ db }) => {
      const { wallets, differences } = await db
        .transaction()
        .execute(async (tx) => await recomputeScores(tx))
      return differences.length === 0
        ? well(`${wallets} wallets, each what its entries come to`)
        : bad(`${differences.length} figures differ from what the entries come to`)
    }),
  },
  {
    what: 'write-ahead log',
    remedy:
      'Something keeps it from being written back: `fuser -v` on the file names who has it open; end readers that do not belong there. With WAL_CHECKPOINT=external see that Litestream runs.',
    look: async ({ databasePath }) => {
      const size = (await stat(`${databasePath}-wal`).catch(() => null))?.size ?? 0
      const detail = `${Math.ceil(size / 2 ** 20)} MiB`
      return size <= MAX_WAL_BYTES ? well(detail) : bad(detail)
    },
  },
  {
    what: 'jobs of the builder',
    remedy:
      'The detail says why. `poll`: egress and DNS; `build`: disk, keys, authored files; `receipts` and `pacts`: the nodes of RPC_URL_…. The next run makes good what this one left; restart the builder where none comes.',
    look: ifOpen(async ({ db }) => {
      const runs = [...(await lastRuns(db)).values()]
      const failed = runs.filter(({ outcome }) => outcome === 'failed')
      if (failed.length > 0) {
        return bad(failed.map(({ job, detail }) => `${job}: ${detail ?? 'failed'}`).join('; '))
      }
      const told = runs.map(({ job, finishedAt }) => `${job} ${finishedAt ?? 'runs'}`)
      return well(told.length === 0 ? 'none has run yet' : told.join(', '))
    }),
  },
]

function ifOpen(
  look: (database: NonNullable<Patient['database']>, patient: Patient) => Promise<Look>,
): DoctorCheck['look'] {
  return async (patient) =>
    patient.database === null ? null : await look(patient.database, patient)
}
