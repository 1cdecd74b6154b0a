export const deltaLimit = 200

interface DeltaInput<Rail, Receipt, Flag, Opportunity> {
  readonly sinceMs: number
  readonly rails: readonly (Rail & { readonly polled_at: string })[]
  readonly receipts: readonly (Receipt & { readonly accepted_at: string })[]
  readonly flags: readonly (Flag & { readonly opened_at: string })[]
  readonly opportunities: readonly (Opportunity & { readonly listed_at: string })[]
}

export function deltaSince<Rail, Receipt, Flag, Opportunity>(
  input: DeltaInput<Rail, Receipt, Flag, Opportunity>,
) {
  const { sinceMs } = input
  const rails = newest(input.rails, (entry) => entry.polled_at, sinceMs)
  const receipts = newest(input.receipts, (entry) => entry.accepted_at, sinceMs)
  const flags = newest(input.flags, (entry) => entry.opened_at, sinceMs)
  const opportunities = newest(input.opportunities, (entry) => entry.listed_at, sinceMs)
  return {
    since: new Date(sinceMs).toISOString(),
    rail_snapshots: rails.slice(0, deltaLimit),
    receipts: receipts.slice(0, deltaLimit),
    honesty_flags: flags.slice(0, deltaLimit),
    opportunities: opportunities.slice(0, deltaLimit),
    truncated: [rails, receipts, flags, opportunities].some((list) => list.length > deltaLimit),
  }
}

function newest<T>(entries: readonly T[], timeOf: (entry: T) => string, sinceMs: number): T[] {
  return entries
    .filter((entry) => Date.parse(timeOf(entry)) > sinceMs)
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))
}
