import { bySeverity } from '../../src/core/flags/kind.ts'
import { jsonDocument, snapshotFamily } from './document.ts'

/** `/honesty/flags`: open flags. */
export const flagDocuments = snapshotFamily(['openFlags'], function* ({ openFlags }) {
  const flags = openFlags.toSorted(bySeverity)
  yield jsonDocument('listHonestyFlags', { count: flags.length, flags }, { stamped: true })
})
