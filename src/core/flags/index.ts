import type { FailedPoll, FlagContext, FlagFinding, GoodPoll } from './kind.ts'
import { paymentFlags } from './payment-flags.ts'
import { failureFlags, sourceFlags } from './source-flags.ts'

const figureFlags = [...paymentFlags, ...sourceFlags] as const
const railFlags = [...failureFlags, ...figureFlags] as const

export type RailFlagKind = (typeof railFlags)[number]['kind']

/** The kinds that polls of rails open and close. */
export const railFlagKinds: readonly string[] = railFlags.map(({ kind }) => kind)

/** When each kind of flag is raised. */
export const flagTexts = [
  ...railFlags.map(({ kind, text }) => [kind, text] as const),
  [
    'pact_sources_disagree',
    'Manifest, escrow, receipts or publications of a pact contradict each other.',
  ],
  ['receipt_reversed', 'A previously verified receipt is no longer verified.'],
] as const

/** Reports a problem of our own reader, not of the rail; `stale` and `poll_error` show it too. */
export function isReaderTrouble({ kind }: { readonly kind: string }): boolean {
  return kind === 'poll_failed' || kind === 'stale_figures'
}

/** The first word is the severity. */
export function flagCaveat({ severity, title }: Pick<FlagFinding, 'severity' | 'title'>): string {
  return `${severity}: ${title}`
}

export interface DetectedFlags {
  readonly raised: readonly { readonly kind: RailFlagKind; readonly finding: FlagFinding }[]
  readonly cleared: readonly RailFlagKind[]
}

export function detectFlags(poll: GoodPoll | FailedPoll, context: FlagContext): DetectedFlags {
  const found =
    poll.kind === 'failed'
      ? failureFlags.map(({ kind, detect }) => ({ kind, finding: detect(poll, context) }))
      : [
          ...failureFlags.map(({ kind }) => ({ kind, finding: null })),
          ...figureFlags.map(({ kind, detect }) => ({ kind, finding: detect(poll, context) })),
        ]
  return {
    raised: found.flatMap(({ kind, finding }) =>
      typeof finding === 'string' || finding === null ? [] : [{ kind, finding }],
    ),
    cleared: found.flatMap(({ kind, finding }) => (finding === null ? [kind] : [])),
  }
}
