import { railBadge } from '../../src/pages/badge.ts'
import { snapshotFamily, textDocument } from './document.ts'
import { railView } from './rail-view.ts'

/** `/badges/rails/{name}.svg`; not archived. */
export const badgeDocuments = snapshotFamily(
  ['getRailBadge'],
  ['nowMs', 'pollEveryMs', 'rails'],
  function* (world) {
    for (const record of world.rails) {
      const rail = railView(record, world)
      yield textDocument('getRailBadge', railBadge(rail, world.nowMs), {
        params: { name: rail.rail },
      })
    }
  },
)
