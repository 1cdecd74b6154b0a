/** What the doctor looks at: one entry per thing, and what to do where it is not well. */
import type { Config } from '../../../../src/config.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'

export interface Patient {
  readonly config: Config
  readonly nowMs: number
  /** Path of the database file. */
  readonly databasePath: string
  /** Null where it cannot be opened; what needs it is left out then. */
  readonly database: OpenDatabase | null
  /** Why it cannot be opened. */
  readonly refusal: string | null
  /** Room that must be left on the disks, in bytes. */
  readonly minFreeBytes: number
}

export interface Look {
  readonly good: boolean
  readonly detail: string
}

export interface DoctorCheck {
  readonly what: string
  /** What to do where it does not hold. */
  readonly remedy: string
  /** A running builder changes it: what looks bad is looked at again before it is told. */
  readonly moves?: true
  /** Null where there is nothing to look at, since another check has said why. */
  readonly look: (patient: Patient) => Promise<Look | null>
}

export const well = (detail: string): Look => ({ good: true, detail })
export const bad = (detail: string): Look => ({ good: false, detail })
