/** The invented rails. Numbers of days are counted back from the time when the demo is created. */
import { entriesOf } from '../../src/core/entries.ts'
import data from './data/rails.json' with { type: 'json' }

/** `newestRail` is polled once, at the end, and its node does not answer for all blocks. */
export const { newestRail, rules } = data

type Acts = Readonly<Partial<Record<keyof typeof data.acts, readonly (readonly number[])[]>>>
const noActs: Acts = {}

/** `trade.payments`: a day, on average. Rails without trade are audited and not polled. */
export const demoRails = data.rails.map(({ rail, trade = null, acts, ...facts }) => ({
  rail,
  display_name: rail.replaceAll(/(?:^|_)[a-z]/g, (start) => start.replace('_', ' ').toUpperCase()),
  category: 'earning',
  status_basis: 'payments',
  trade,
  acts: { ...noActs, ...acts },
  ...facts,
}))
export type DemoRail = (typeof demoRails)[number]

/** What happens on a rail or at its source. Each act has its first and last days. */
export function activeActs({ acts }: Pick<DemoRail, 'acts'>, day: number) {
  const active = entriesOf(acts).filter(([, times = []]) =>
    times.some(([first = 0, last = 0]) => day <= first && day >= last),
  )
  return new Set(active.map(([name]) => name))
}

/** The top-level domain `example` is reserved, so that no site can have this name. */
export function hostOf(rail: string): string {
  return `${rail.replaceAll('_', '-')}.example`
}

/** The file of a rail in `data/rails`. */
export function authoredRail({ trade, acts: _, audit, ...rail }: DemoRail): object {
  const site = `https://${hostOf(rail.rail)}`
  const methodology = data.methodology[trade === null ? 'audited' : 'polled']
  return {
    ...rail,
    entry_requirements: ['A wallet'],
    sample_apply_url: `${site}/apply`,
    reference_url: site,
    methodology: `${rail.display_name} ${methodology}`,
    audit: audit ?? data.notCounted,
    sources: [`https://reports.example/${rail.rail}`],
  }
}
