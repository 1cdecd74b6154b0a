/** Looks at everything that an installation needs, says what to do where it is not well, and changes nothing. */
import { secondMs } from '../../../src/core/time.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { describe, exitCodes, plain } from '../output.ts'
import type { Session } from '../session.ts'
import type { DoctorCheck, Look, Patient } from './doctor/check.ts'
import { databaseChecks } from './doctor/database.ts'
import { fileChecks } from './doctor/files.ts'
import { publishedChecks } from './doctor/published.ts'
import { databasePath, openExisting, settingsOf } from './settings.ts'

/** Everything that is looked at, in the order in which it is told. */
export const doctorChecks: readonly DoctorCheck[] = [
  ...databaseChecks,
  ...fileChecks,
  ...publishedChecks,
]

/** So often what a running builder may just be changing is looked at before it is called bad. */
const LOOKS = 3
const BETWEEN_LOOKS_MS = 2 * secondMs
const DEFAULT_MIN_FREE_MIB = 512

interface Finding extends Look {
  readonly what: string
  /** Only where something is to be done. */
  readonly remedy?: string
}

export async function runDoctor(session: Session, input: Input): Promise<number> {
  const config = settingsOf(session)
  const minFree = input.text('min-free') ?? String(DEFAULT_MIN_FREE_MIB)
  if (!/^\d{1,9}$/.test(minFree)) throw new UsageError('--min-free is a number of MiB')
  const path = databasePath(config)
  const opened = await openExisting(config, true).catch((error: unknown) => {
    if (error instanceof UsageError) return error
    throw error
  })
  const isOpen = !(opened instanceof UsageError)
  const patient: Patient = {
    config,
    nowMs: session.clock.now(),
    databasePath: path,
    database: isOpen ? opened : null,
    refusal: isOpen ? null : opened.message,
    minFreeBytes: Number(minFree) * 2 ** 20,
  }
  try {
    const findings: Finding[] = []
    for (const check of doctorChecks) {
      const look = await lookAt(session, check, patient)
      if (look === null) continue
      const { what, remedy } = check
      findings.push({ what, ...look, ...(look.good ? {} : { remedy }) })
    }
    return print(session, config, findings)
  } finally {
    if (isOpen) await opened.close()
  }
}

async function lookAt(
  { clock }: Session,
  check: DoctorCheck,
  patient: Patient,
): Promise<Look | null> {
  for (let looks = 1; ; looks += 1) {
    // One that cannot be looked at is a finding, and the others are looked at all the same.
    const found = await check.look(patient).catch((error: unknown) => ({
      good: false,
      detail: `cannot be looked at: ${error instanceof Error ? error.message : String(error)}`,
    }))
    if (found === null || found.good || check.moves !== true || looks === LOOKS) return found
    await clock.sleep(BETWEEN_LOOKS_MS)
  }
}

function print(
  session: Session,
  { DATA_DIR, PUBLIC_DIR }: Patient['config'],
  checks: readonly Finding[],
): number {
  const good = checks.every((check) => check.good)
  const subject = { data_dir: DATA_DIR, public_dir: PUBLIC_DIR }
  const lines = checks.map(({ what, good: holds, detail, remedy }) => {
    const line = `${holds ? 'good' : 'BAD '}  ${plain(what)}: ${plain(detail)}\n`
    return remedy === undefined ? line : `${line}      What to do: ${remedy}\n`
  })
  const end = good ? 'All is well.\n' : 'Something is to be done.\n'
  session.print({ ...subject, good, checks }, `${describe(subject)}${lines.join('')}${end}`)
  return good ? exitCodes.ok : exitCodes.refused
}
