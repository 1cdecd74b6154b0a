/** What the builder tells of itself: a small file beside the database, for the service that cannot look into it. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { isErrno } from '../core/errno.ts'
import { secondMs } from '../core/time.ts'

const count = z.int().min(0)
const figure = z.number().min(0)

const jobReport = z.strictObject({
  ok: count,
  failed: count,
  seconds: figure,
  /** Unix seconds; null before the first. */
  last_success: figure.nullable(),
})

export const builderReport = z.strictObject({
  /** Unix seconds. */
  at: figure,
  started: figure,
  cpu_seconds: figure,
  resident_bytes: figure,
  heap_used_bytes: figure,
  event_loop_lag_seconds: figure,
  open_fds: count.nullable(),
  jobs: z.record(z.string().regex(/^[a-z]{1,20}$/), jobReport),
})
export type BuilderReport = z.infer<typeof builderReport>

/** How often the builder reports while it is well. */
export const reportEveryMs = 15 * secondMs

const FILE = 'builder-report.json'

/** Not flushed: what a loss of power takes away is told anew a moment later. */
export async function writeBuilderReport(dataDir: string, report: BuilderReport): Promise<void> {
  const path = join(dataDir, FILE)
  await writeFile(`${path}.next`, `${JSON.stringify(report)}\n`, { mode: 0o600 })
  await rename(`${path}.next`, path)
}

/** Null where no builder has reported yet. @throws Error where the file is none of ours. */
export async function readBuilderReport(dataDir: string): Promise<BuilderReport | null> {
  const text = await readFile(join(dataDir, FILE), 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  })
  return text === null ? null : builderReport.parse(JSON.parse(text))
}
