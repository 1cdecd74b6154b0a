import { reputationFormula } from '../../src/core/reputation/formula.ts'
import type { Community } from '../world/community.ts'
import { firstPageDocument, jsonDocument, snapshotFamily } from './document.ts'

/** `/leaderboard`, `/workers`, `/receipts` and `/partners`: the first page of each; the totals count all. */
export const communityDocuments = snapshotFamily(['community'], function* ({ community }) {
  const { workers, workersTotal, workersNext, receipts, receiptsTotal, receiptsNext } = community
  const { leaderboard, leaderboardAsOf: as_of, leaderboardArchived: archived } = community
  const { partners, partnersTotal, partnersNext } = community
  yield jsonDocument(
    'getLeaderboard',
    { ...board(leaderboard), as_of },
    // The archive stores the scores as of the newest entry, which do not change with time.
    { stamped: true, archive: board(archived) },
  )
  yield firstPageDocument('listWorkers', { workers }, workersTotal, workersNext)
  yield firstPageDocument('listReceipts', { receipts }, receiptsTotal, receiptsNext)
  // Partners may change their profiles, so the archive does not keep them.
  const listed = firstPageDocument('listPartners', { partners }, partnersTotal, partnersNext)
  yield { ...listed, archive: null }
})

export const jobDocuments = snapshotFamily(
  ['exchange'],
  function* ({ exchange: { jobs, total, next, receiptsBy } }) {
    yield firstPageDocument('listJobs', { jobs }, total, next, { receipts_by: receiptsBy })
  },
)

export const partnerDocuments = snapshotFamily(
  ['tiers', 'oaths', 'platforms', 'exchange'],
  function* ({ tiers, oaths, platforms, exchange: { receiptsBy: receipts_by } }) {
    yield jsonDocument('listTiers', { count: tiers.length, tiers })
    yield jsonDocument('listOaths', { count: oaths.length, oaths })
    yield jsonDocument('listPlatforms', { count: platforms.length, platforms, receipts_by })
  },
)

function board(leaderboard: Community['leaderboard']): object {
  return {
    leaderboard,
    count: leaderboard.length,
    formula: reputationFormula,
    ...(leaderboard.length === 0 ? { note: 'No receipt has been verified yet.' } : {}),
  }
}
