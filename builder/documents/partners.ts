import { jsonDocument } from './document.ts'
import type { SnapshotFamily } from './document.ts'

/** `/partners/tiers` and `/oaths`. */
export const partnerDocuments: SnapshotFamily = {
  routes: ['listTiers', 'listOaths'],
  *build({ tiers, oaths }) {
    yield jsonDocument('listTiers', { count: tiers.length, tiers })
    yield jsonDocument('listOaths', { count: oaths.length, oaths })
  },
}
