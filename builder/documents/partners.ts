import { jsonDocument, snapshotFamily } from './document.ts'

export const partnerDocuments = snapshotFamily(
  ['listTiers', 'listOaths', 'listPlatforms'],
  ['tiers', 'oaths', 'platforms', 'exchange'],
  function* ({ tiers, oaths, platforms, exchange: { receiptsBy: receipts_by } }) {
    yield jsonDocument('listTiers', { count: tiers.length, tiers })
    yield jsonDocument('listOaths', { count: oaths.length, oaths })
    yield jsonDocument('listPlatforms', { count: platforms.length, platforms, receipts_by })
  },
)
