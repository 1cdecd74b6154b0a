/** The rails that fit what an agent can do, spend and has, and why the others do not. */
import { statusCaveats } from './arbitrage.ts'
import { entriesOf } from './entries.ts'
import { knownFigure } from './figures.ts'
import type { FigureName } from './figures.ts'
import { counted } from './number-text.ts'
import type { RailStatus } from './rules/status.ts'

/** What an agent may have, and the requirements of rails that name it. Other requirements cannot be compared. */
export const belongings = {
  evm: {
    label: 'an EVM wallet',
    pattern:
      /\b(?:EVM|Base|Ethereum|Arbitrum|BNB Smart Chain|Celo|Gnosis|OP Mainnet|Polygon|Tempo)\b.*\bwallet\b/i,
  },
  solana: { label: 'a Solana wallet', pattern: /\bSolana wallet\b/i },
  github: { label: 'a GitHub account', pattern: /\bGitHub\b/i },
  https: { label: 'a public HTTPS endpoint', pattern: /\bHTTPS\b/i },
  kyc: {
    label: 'a person who passes an identity check',
    pattern: /\bKYC\b|\bidentity check\b|\bhuman (?:account|operator|worker)\b|\btax form\b/i,
  },
} as const

export interface Wishes {
  readonly skill?: string | undefined
  readonly chain?: string | undefined
  readonly maxEntryUsdc?: number | undefined
  /** Nothing is missing without this list. */
  readonly has?: readonly (keyof typeof belongings)[] | undefined
}

interface Skill {
  readonly slug: string
  /** Rails that offer the skill. */
  readonly surface: readonly string[]
}

interface Listed {
  readonly rail: string
  readonly chain: string
  readonly entry_cost_usdc: number
  readonly entry_requirements: readonly string[] | null
  readonly worker_usd_per_day_median?: number | undefined
  readonly unknown_figures: readonly FigureName[]
}

interface ListedRail extends Listed {
  readonly status: RailStatus
  readonly judged: boolean
}

/** `met` is null if the agent's list does not say. */
interface Requirement {
  readonly text: string
  readonly met: boolean | null
}

interface Reason {
  readonly kind: 'entry' | 'chain' | 'status' | 'skill'
  readonly text: string
}

/** Keeps the given order, but matches with fewer missing requirements come first. */
export function matchRails<Opportunity extends Listed, Rail extends ListedRail>(
  listed: {
    /** The rails that pay now. */
    readonly opportunities: readonly Opportunity[]
    /** All rails to explain; may be empty. */
    readonly rails: readonly Rail[]
    readonly skills: readonly Skill[]
  },
  wishes: Wishes,
): {
  readonly matches: readonly {
    readonly entry: Opportunity
    readonly requirements: readonly Requirement[]
  }[]
  readonly leftOut: readonly { readonly rail: Rail; readonly reason: Reason }[]
} {
  const skill = listed.skills.find(({ slug }) => slug === wishes.skill)
  const offers = (entry: Listed) =>
    wishes.skill === undefined || skill?.surface.includes(entry.rail) === true
  const matches = listed.opportunities
    .filter((entry) => offers(entry) && reasonAgainst(entry, wishes) === null)
    .map((entry) => ({ entry, requirements: requirementsOf(entry, wishes) }))
  const paying = new Set(listed.opportunities.map(({ rail }) => rail))
  const reasonFor = (rail: Rail): Reason | null => {
    if (!offers(rail)) return { kind: 'skill', text: 'It does not list this skill.' }
    return paying.has(rail.rail) ? reasonAgainst(rail, wishes) : notPaying(rail)
  }
  return {
    matches: matches.toSorted((a, b) => missing(a.requirements) - missing(b.requirements)),
    leftOut: listed.rails.flatMap((rail) => {
      const reason = reasonFor(rail)
      return reason === null ? [] : [{ rail, reason }]
    }),
  }
}

function reasonAgainst(entry: Listed, { chain, maxEntryUsdc = Infinity }: Wishes): Reason | null {
  const { entry_cost_usdc: cost } = entry
  if (chain !== undefined && entry.chain !== chain) {
    return { kind: 'chain', text: `It pays on ${entry.chain}.` }
  }
  if (cost <= maxEntryUsdc) return null
  const median = knownFigure(entry, 'worker_usd_per_day_median')
  const earnedBack =
    median === null || median === 0
      ? ''
      : ` At the median income, that is earned back in ${counted(Math.ceil(cost / median), 'day')}.`
  return { kind: 'entry', text: `It costs ${cost} USDC to join.${earnedBack}` }
}

function notPaying({ status, judged }: ListedRail): Reason {
  const known = judged || status === 'paying'
  const text = known ? statusCaveats[status] : 'The rail is not judged: too little is known.'
  return { kind: 'status', text: text ?? 'The audit that found it paying is too old.' }
}

function requirementsOf(
  { entry_requirements: texts }: Listed,
  { has }: Wishes,
): readonly Requirement[] {
  return (texts ?? []).map((text) => {
    const named = entriesOf(belongings).filter(([, { pattern }]) => pattern.test(text))
    if (has === undefined || named.length === 0) return { text, met: null }
    return { text, met: named.some(([name]) => has.includes(name)) }
  })
}

function missing(requirements: readonly Requirement[]): number {
  return requirements.filter(({ met }) => met === false).length
}
