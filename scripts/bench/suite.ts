export interface SuiteContext {
  /** Few and short rounds: enough to see that nothing is broken, not enough to decide by. */
  readonly quick: boolean
  /** An empty directory for this suite, removed at the end of the run. */
  readonly dir: string
  readonly log: (line: string) => void
  /**
   * A directory that several suites read: `fill` is called for the first one, the others get the same directory. Suites
   * copy what they change.
   */
  readonly sharedDir: (name: string, fill: (dir: string) => Promise<void>) => Promise<string>
}

export interface Suite {
  readonly about: string
  readonly run: (context: SuiteContext) => Promise<SuiteReport>
}

export type BenchFacts = Readonly<Record<string, string | number>>

export interface SuiteReport {
  readonly rows: readonly Row[]
  readonly skipped: readonly { readonly what: string; readonly why: string }[]
  readonly facts: BenchFacts
}

/** One comparison with a peer that was measured in the same rounds. */
export interface Row {
  readonly what: string
  readonly unit: string
  readonly ours: Summary
  readonly peer: Summary & { readonly name: string }
  /** Own figure divided by that of the peer, per round. */
  readonly ratio: Summary
  readonly target: Target | null
  /** Medians of further figures by name, such as CPU time per request. */
  readonly also: Readonly<Record<string, AlsoMeasured>>
}

export interface AlsoMeasured {
  readonly ours: number
  readonly peer: number
  readonly ratio: number
}

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly rounds: number
}

/** The bound for the ratio, or for ours alone in the unit of the row. */
export type Target =
  | { readonly of: 'ratio'; readonly atLeast: number }
  | { readonly of: 'ratio'; readonly atMost: number }
  | { readonly of: 'ours'; readonly atMost: number }

export function isMet({ target, ratio, ours }: Row): boolean | null {
  if (target === null) return null
  const value = target.of === 'ratio' ? ratio.median : ours.median
  return 'atLeast' in target ? value >= target.atLeast : value <= target.atMost
}
