import type { Config } from '../../../../src/config.ts'
import type { Check } from '../../../../src/core/check.ts'
import type { OpenDatabase } from '../../../../src/db/open.ts'
import type { ReadableFiles } from '../../../../src/files/readable-files.ts'

export interface DoctorContext {
  readonly config: Config
  readonly nowMs: number
  /** The SQLite file. */
  readonly databasePath: string | null
  /** Null if the database cannot be opened; checks that need it are skipped. */
  readonly database: OpenDatabase | null
  readonly openError: string | null
  readonly files: ReadableFiles
  readonly minFreeBytes: number
}

export type DoctorResult = Omit<Check, 'what'>

export interface DoctorCheck {
  readonly what: string
  readonly remedy: string
  /** A running builder may change what the check reads, so a bad result is checked again. */
  readonly mayChange?: true
  /** Returns null if there is nothing to check, since another check reports the reason. */
  readonly run: (context: DoctorContext) => Promise<DoctorResult | null>
}

export const good = (detail: string): DoctorResult => ({ good: true, detail })
export const bad = (detail: string): DoctorResult => ({ good: false, detail })
