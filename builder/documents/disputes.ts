import type { Dispute } from '../../src/contract/schemas/dispute.ts'
import { firstPage } from '../world/lists.ts'
import type { World } from '../world/world.ts'
import { firstPageDocument, snapshotFamily } from './document.ts'

const shownOfRail = 50

export const disputeDocuments = snapshotFamily(
  ['disputes'],
  function* ({ disputes: { newest, total, next } }) {
    yield firstPageDocument('listDisputes', { disputes: newest.slice(0, firstPage) }, total, next)
  },
)

export function disputesOfRail(
  rail: string,
  { disputes: { newest } }: Pick<World, 'disputes'>,
): readonly Dispute[] {
  return newest.filter((dispute) => dispute.rail === rail).slice(0, shownOfRail)
}
