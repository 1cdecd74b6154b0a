import type { AnyRailAdapter } from '../../../builder/rails/adapter.ts'
import { check } from '../../../src/core/check.ts'
import type { Check } from '../../../src/core/check.ts'
import { firstDifference } from '../../../src/core/evidence.ts'
import type { Bundle } from '../../../src/core/evidence.ts'
import type { Session } from '../session.ts'
import { NotKept } from './evidence.ts'
import type { Bundles, EvidenceReader, LookUps, PublishedPoll } from './evidence.ts'

/** Other rules, or other formats of evidence, lead to other lines. */
export function programOf({ v, rule, code }: Bundle): string {
  return `rule ${rule}, program ${code.version}, evidence ${v}`
}

export type Report = ReturnType<typeof createReport>

export interface Recomputation {
  readonly adapter: AnyRailAdapter
  readonly poll: PublishedPoll
  readonly bundles: Bundles
  readonly evidence: EvidenceReader
  readonly lookUps: LookUps
  readonly report: Report
  readonly session: Session
}

/** @param allowsOpen what cannot be checked does not fail the command */
export function createReport(allowsOpen: boolean) {
  const findings: Check[] = []
  /** Evidence or the chain could show it, but not in this run. */
  const open = (what: string, detail: string): void => {
    findings.push({ what, good: allowsOpen, detail, label: 'open' })
  }
  return {
    findings,
    open,
    /** What the work lacks in the evidence is open. */
    attempt: async (what: string, work: () => Promise<void>, prefix = ''): Promise<void> => {
      try {
        await work()
      } catch (error) {
        if (!(error instanceof NotKept)) throw error
        open(what, `${prefix}${error.message}`)
      }
    },
    check: (what: string, good: boolean, detail: string, ifBad = detail): void => {
      findings.push(check(what, good, detail, ifBad))
    },
    compare: (what: string, published: readonly string[], found: readonly string[]): void => {
      const difference = firstDifference(published, found)
      const lines = `${found.length} lines are the same`
      findings.push(check(what, difference === null, lines, difference ?? ''))
    },
    /** Nobody can check it. */
    note: (what: string, detail: string): void => {
      findings.push({ what, good: true, detail, label: 'note' })
    },
  }
}
