import { jsonDocument } from './document.ts'
import type { SnapshotFamily } from './document.ts'

const formula =
  'rep_score = sum over ledger entries of amount_usdc * weight * exp(-age_days / 60); weight = evidence (1 verified on chain, 0.8 issued by a platform, 0 self-signed only) * payer (1, 1/2, 1/3, ... for the first, second, third, ... verified receipt of one payer; 0 when payer and worker are one wallet)'

/** `/leaderboard`, `/workers` and `/receipts`: the first page of each; the totals count all. */
export const communityDocuments: SnapshotFamily = {
  routes: ['getLeaderboard', 'listWorkers', 'listReceipts'],
  *build({ community }) {
    const { leaderboard, workers, receipts } = community
    yield jsonDocument(
      'getLeaderboard',
      {
        leaderboard,
        count: leaderboard.length,
        formula,
        ...(leaderboard.length === 0 ? { note: 'No receipt has been verified yet.' } : {}),
      },
      { stamped: true },
    )
    yield jsonDocument(
      'listWorkers',
      { count: workers.length, total: community.workersTotal, workers },
      { stamped: true },
    )
    yield jsonDocument(
      'listReceipts',
      { count: receipts.length, total: community.receiptsTotal, receipts },
      { stamped: true },
    )
  },
}
