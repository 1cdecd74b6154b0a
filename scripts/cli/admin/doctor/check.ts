import type { Config } from '../../../../src/config.ts'
import type { Check } from '../../../../src/core/check.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'

export interface DoctorContext {
  readonly config: Config
  readonly nowMs: number
  /** Path of the database file. */
  readonly databasePath: string
  /** Null where it cannot be opened; checks that need it are skipped. */
  readonly database: OpenDatabase | null
  readonly openError: string | null
  readonly minFreeBytes: number
}

export type DoctorResult = Omit<Check, 'what'>

export interface DoctorCheck {
  readonly what: string
  readonly remedy: string
  /** A running builder changes it: a bad result is checked again before it is reported. */
  readonly mayChange?: true
  /** Null where there is nothing to check, since another check reports why. */
  readonly run: (context: DoctorContext) => Promise<DoctorResult | null>
}

export const good = (detail: string): DoctorResult => ({ good: true, detail })
export const bad = (detail: string): DoctorResult => ({ good: false, detail })
