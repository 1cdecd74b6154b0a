import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Severity } from '../../src/core/flags/kind.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

export const severityOrder: Readonly<Record<Severity, number>> = {
  critical: 0,
  warning: 1,
  info: 2,
}

/** `/honesty/flags`: open flags. */
export const flagDocuments = snapshotFamily(
  ['listHonestyFlags'],
  ['openFlags'],
  function* ({ openFlags }) {
    const flags = openFlags.toSorted(bySeverity)
    yield jsonDocument('listHonestyFlags', { count: flags.length, flags }, { stamped: true })
  },
)

/** Most severe first, then newest first. */
export function bySeverity(a: Flag, b: Flag): number {
  if (a.severity !== b.severity) return severityOrder[a.severity] - severityOrder[b.severity]
  if (a.opened_at !== b.opened_at) return a.opened_at > b.opened_at ? -1 : 1
  return a.id < b.id ? -1 : 1
}
