import type { LeaderboardEntry, Worker } from '../../src/contract/schemas/worker.ts'
import { toUsdc } from '../../src/core/money.ts'
import { scoreAt } from '../../src/core/reputation/standing.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { topStandings } from '../../src/db/leaderboard.ts'
import type { RankedStanding } from '../../src/db/leaderboard.ts'
import { namedWallets } from '../../src/db/names.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { countPartners, partnerRows } from '../../src/db/partners.ts'
import {
  receiptRows,
  receiptTotals,
  receiptView,
  walletsOf,
} from '../../src/db/receipts/receipts.ts'
import type { ReceiptTotals } from '../../src/db/receipts/receipts.ts'
import { countRows } from '../../src/db/records.ts'
import { newestEntryAt } from '../../src/db/reputation.ts'
import { workerRows } from '../../src/db/workers.ts'
import { firstPage, nextCursor } from './lists.ts'

export interface CommunityMemory {
  receipts: ReceiptTotals | null
}

export type Community = Awaited<ReturnType<typeof gatherCommunity>>

/** The lists contain the newest entries; the totals count all entries. */
export async function gatherCommunity(
  { reader }: OpenDatabase,
  { siteUrl, nowMs }: { readonly siteUrl: string; readonly nowMs: number },
  memory: CommunityMemory = { receipts: null },
) {
  const page = { limit: firstPage + 1, before: null }
  const newest = await newestEntryAt(reader)
  const newestMs = newest === null ? null : Date.parse(newest)
  // The newest entry or the start of the day (UTC), so that decay alone does not change documents all the time.
  const asOfMs = Math.max(newestMs ?? 0, Math.floor(nowMs / dayMs) * dayMs)
  const [workers, workersTotal, receipts, totals, standings, archived, partners, partnersTotal] =
    await Promise.all([
      workerRows().read(reader, page),
      countRows(reader.selectFrom('workers')),
      receiptRows().read(reader, page),
      receiptTotals(reader, memory.receipts),
      topStandings(reader, firstPage, asOfMs),
      topStandings(reader, firstPage, newestMs ?? 0),
      partnerRows.read(reader, page),
      countPartners(reader),
    ])
  memory.receipts = totals
  const shown = receipts.slice(0, firstPage)
  return {
    workers: workers.slice(0, firstPage).map(({ worker }): Worker => worker),
    workersTotal,
    workersNext: nextCursor('workers', workers),
    receipts: shown.map((record) => receiptView(record, siteUrl)),
    receiptsTotal: totals.total,
    receiptsVerified: totals.verified,
    receiptsNext: nextCursor('receipts', receipts),
    /** The registered wallets among payers and workers of `receipts`. */
    names: await namedWallets(reader, walletsOf(shown)),
    leaderboard: ranked(standings, asOfMs),
    leaderboardAsOf: isoTime(asOfMs),
    /** The scores are as of the newest entry, so that only facts change them. */
    leaderboardArchived: ranked(archived, newestMs ?? 0),
    partners: partners.slice(0, firstPage).map(({ partner }) => partner),
    partnersTotal,
    partnersNext: nextCursor('partners', partners),
  }
}

function ranked(standings: readonly RankedStanding[], atMs: number): LeaderboardEntry[] {
  return standings.map((standing, index) => ({
    rank: index + 1,
    wallet: standing.display,
    display_name: standing.displayName,
    ...(standing.looksLikeAnother ? { looks_like_another: true as const } : {}),
    claimed: standing.claim === 'key',
    ...(standing.claim === null ? {} : { claim: standing.claim }),
    rep_score: scoreAt(standing, atMs),
    receipts_count: standing.receipts,
    total_usdc_lifetime: toUsdc(standing.lifetimeMicroUsdc),
    last_receipt_at: standing.lastReceiptAt,
  }))
}
