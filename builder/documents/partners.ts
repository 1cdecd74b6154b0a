import { jsonDocument, snapshotFamily } from './document.ts'

export const partnerDocuments = snapshotFamily(
  ['listTiers', 'listOaths'],
  ['tiers', 'oaths'],
  function* ({ tiers, oaths }) {
    yield jsonDocument('listTiers', { count: tiers.length, tiers })
    yield jsonDocument('listOaths', { count: oaths.length, oaths })
  },
)
