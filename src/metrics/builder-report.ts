/** The builder's report about itself: a file next to the database, read by the service's metrics. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { secondMs } from '../core/time.ts'
import { readIfExists } from '../files/durable.ts'

const count = z.int().min(0)
const figure = z.number().min(0)

const jobReport = z.strictObject({
  ok: count,
  failed: count,
  seconds: figure,
  /** Unix seconds; null before the first success. */
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

export const reportEveryMs = 15 * secondMs

const FILE = 'builder-report.json'

/** Not flushed: after a power loss the next report replaces it. */
export async function writeBuilderReport(dataDir: string, report: BuilderReport): Promise<void> {
  const path = join(dataDir, FILE)
  await writeFile(`${path}.next`, `${JSON.stringify(report)}\n`, { mode: 0o600 })
  await rename(`${path}.next`, path)
}

/** Returns null before the first report. @throws Error if the file is invalid */
export async function readBuilderReport(dataDir: string): Promise<BuilderReport | null> {
  const bytes = await readIfExists(join(dataDir, FILE))
  return bytes === null ? null : builderReport.parse(JSON.parse(bytes.toString()))
}
