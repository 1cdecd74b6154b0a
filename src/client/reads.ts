/** What can be read. Snapshots are public; partner reads are signed. */
import { callOf } from './call.ts'
import type { PayOptions, QueryOf } from './call.ts'
import { partnerIfAny } from './prepare.ts'
import type { Caller } from './prepare.ts'

export function readCalls(caller: Caller) {
  return {
    health: () => callOf(caller, 'getHealth'),
    statsLive: (query: QueryOf<'getStatsLive'> = {}) => callOf(caller, 'getStatsLive', { query }),
    statsDaily: () => callOf(caller, 'getStatsDaily'),
    rails: () => callOf(caller, 'listRails'),
    rail: (name: string) => callOf(caller, 'getRail', { params: { name } }),
    railHistory: (name: string) => callOf(caller, 'getRailHistory', { params: { name } }),
    railHistoryCsv: (name: string) => callOf(caller, 'getRailHistoryCsv', { params: { name } }),
    opportunities: () => callOf(caller, 'listOpportunities'),
    leaderboard: () => callOf(caller, 'getLeaderboard'),
    flags: () => callOf(caller, 'listHonestyFlags'),
    skills: () => callOf(caller, 'listSkills'),
    skill: (slug: string) => callOf(caller, 'getSkill', { params: { slug } }),
    pacts: () => callOf(caller, 'listPacts'),
    pact: (id: string) => callOf(caller, 'getPact', { params: { id } }),
    tiers: () => callOf(caller, 'listTiers'),
    oaths: () => callOf(caller, 'listOaths'),
    deskFeed: () => callOf(caller, 'getDeskFeed'),
    deskArticle: (slug: string) => callOf(caller, 'getDeskArticle', { params: { slug } }),
    signingKeys: () => callOf(caller, 'getSigningKeys'),
    manifest: () => callOf(caller, 'getSnapshotManifest'),
    workers: (query: QueryOf<'listWorkers'> = {}) => callOf(caller, 'listWorkers', { query }),
    worker: (wallet: string) => callOf(caller, 'getWorker', { params: { wallet } }),
    receipts: (query: QueryOf<'listReceipts'> = {}) => callOf(caller, 'listReceipts', { query }),
    receipt: (id: string) => callOf(caller, 'getReceipt', { params: { id } }),
    /** Sold: by a partner whose tier covers it, or paid for. @throws PaymentRequiredError */
    reputation: (wallet: string, query: QueryOf<'getReputation'> = {}, pay: PayOptions = {}) =>
      callOf(caller, 'getReputation', {
        params: { wallet },
        query,
        ...partnerIfAny(caller),
        ...pay,
      }),
    /** Sold, as `reputation`. */
    card: (query: QueryOf<'getCard'> = {}, pay: PayOptions = {}) =>
      callOf(caller, 'getCard', { query, ...partnerIfAny(caller), ...pay }),
  } as const
}
