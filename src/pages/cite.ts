import type { AuditClaim, Rail } from '../contract/schemas/rail.ts'
import { knownFigure } from '../core/figures.ts'
import type { FigureName } from '../core/figures.ts'
import { railPath } from './paths.ts'

type Audited = Pick<AuditClaim, 'counted_by' | 'source' | 'to' | 'from'>

/**
 * The citation of a figure: what it is, by which rule, and where a reader can verify it later. The evidence is named by its
 * SHA-256 and is in the log; the document may have changed since.
 */
export function citationOf(view: Rail, name: FigureName, siteUrl: string): string {
  const value = knownFigure(view, name)
  const unit = name.endsWith('_usdc') ? ' USDC' : name === 'top_worker_share' ? ' (of 1)' : ''
  const { evidence_uri: evidence, figures_as_of: asOf } = view
  const audited: Readonly<Record<string, Audited | undefined>> = view.audit.figures
  const counted = view.figures_source === 'audit' ? audited[name] : undefined
  const window = `${name.includes('7d') ? 7 : 30} days to ${asOf}`
  const days = counted === undefined ? window : `${counted.from} to ${counted.to}`
  return [
    `Agent Income Ledger (${siteUrl}${railPath(view.rail)})`,
    `${view.display_name}, ${name}: ${value === null ? 'unknown' : `${value}${unit}`}, ${days}`,
    `${view.figures_source === 'audit' ? 'As of' : 'Polled'} ${asOf}, rule ${view.rule}`,
    counted === undefined ? null : `Counted by ${counted.counted_by}: ${counted.source}`,
    evidence === undefined ? null : `Evidence ${siteUrl}${evidence}`,
    `Document ${siteUrl}/api/v1/rails/${view.rail}, signed, in the sets of ${siteUrl}/snapshot.json`,
  ]
    .filter((part) => part !== null)
    .map((part) => `${part}.`)
    .join(' ')
}
