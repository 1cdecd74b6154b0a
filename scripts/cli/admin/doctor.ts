/** `admin doctor`: checks an installation and recommends fixes; changes nothing. */
import { secondMs } from '../../../src/core/time.ts'
import { publishedFiles } from '../../../src/runtime/published-files.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { printChecks } from '../output.ts'
import type { Session } from '../session.ts'
import type { DoctorCheck, DoctorContext, DoctorResult } from './doctor/check.ts'
import { databaseChecks } from './doctor/database.ts'
import { fileChecks } from './doctor/files.ts'
import { databasePath, openExisting, settingsOf } from './settings.ts'

export const doctorChecks: readonly DoctorCheck[] = [...databaseChecks, ...fileChecks]

/** A running builder may change what a check reads, so a bad result is checked again. */
const MAX_ATTEMPTS = 3
const RETRY_DELAY_MS = 2 * secondMs
const DEFAULT_MIN_FREE_MIB = '512'

export async function runDoctor(session: Session, input: Input): Promise<number> {
  const config = settingsOf(session)
  const path = databasePath(config)
  const opened = await openExisting(config, true).catch((error: unknown) => {
    if (error instanceof UsageError) return error
    throw error
  })
  const isOpen = !(opened instanceof UsageError)
  const context: DoctorContext = {
    config,
    nowMs: session.clock.now(),
    databasePath: path,
    database: isOpen ? opened : null,
    openError: isOpen ? null : opened.message,
    files: publishedFiles(config, session),
    minFreeBytes: Number(input.text('min-free') ?? DEFAULT_MIN_FREE_MIB) * 2 ** 20,
  }
  try {
    const results = []
    for (const check of doctorChecks) {
      const { what, remedy } = check
      const result = await runCheck(session, check, context)
      if (result !== null) results.push({ ...result, what, ...(result.good ? {} : { remedy }) })
    }
    const { DATA_DIR: dataDir, PUBLIC_DIR: publicDir } = config
    return printChecks(session, { data_dir: dataDir, public_dir: publicDir }, results)
  } finally {
    if (isOpen) await opened.close()
  }
}

async function runCheck(
  { clock }: Session,
  check: DoctorCheck,
  context: DoctorContext,
): Promise<DoctorResult | null> {
  for (let attempt = 1; ; attempt += 1) {
    // A check that cannot run is a bad result; the other checks still run.
    const result = await check.run(context).catch((error: unknown) => ({
      good: false,
      detail: `cannot be checked: ${error instanceof Error ? error.message : String(error)}`,
    }))
    if (result?.good !== false || check.mayChange !== true || attempt === MAX_ATTEMPTS) {
      return result
    }
    await clock.sleep(RETRY_DELAY_MS)
  }
}
