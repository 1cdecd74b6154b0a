import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Severity } from '../../src/core/flags/kind.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

const weight: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 }

/** `/honesty/flags`: open flags, the most severe first, then the newest. */
export const flagDocuments = snapshotFamily(
  ['listHonestyFlags'],
  ['openFlags'],
  function* ({ openFlags }) {
    const flags = openFlags.toSorted(bySeverity)
    yield jsonDocument('listHonestyFlags', { count: flags.length, flags }, { stamped: true })
  },
)

function bySeverity(a: Flag, b: Flag): number {
  if (a.severity !== b.severity) return weight[a.severity] - weight[b.severity]
  if (a.opened_at !== b.opened_at) return a.opened_at > b.opened_at ? -1 : 1
  return a.id < b.id ? -1 : 1
}
