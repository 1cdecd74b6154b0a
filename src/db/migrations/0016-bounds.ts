import type { Migration } from './migration.ts'

/** `skeletonOf` for names of plain letters. */
const plainSkeleton = [
  [' ', ''],
  ['.', ''],
  ['_', ''],
  ['-', ''],
  ['0', 'o'],
  ['1', 'l'],
  ['i', 'l'],
  ['5', 's'],
  ['rn', 'm'],
  ['vv', 'w'],
  ['cl', 'd'],
].reduce((text, [from, to]) => `replace(${text}, '${from}', '${to}')`, 'lower(name)')

/** What bounds on writes are counted by, and who had a name first. */
export const bounds = {
  name: '0016_bounds',
  up: [
    `create index jobs_open_by_poster on jobs (poster) where status = 'open'`,
    `create index job_bids_open_by_bidder on job_bids (bidder) where status = 'open'`,
    `create index receipts_unverified_by_worker on receipts (to_wallet, accepted_at)
      where kind = 'signed' and verification <> 'verified'`,
    `create table network_writes (
      id integer primary key,
      what text not null check (what in ('registration', 'receipt')),
      network text not null,
      created_at text not null
    ) strict`,
    `create index network_writes_by_network on network_writes (network, what, created_at)`,
    `create index network_writes_by_time on network_writes (created_at)`,
    `create table names (
      wallet text not null,
      kind text not null check (kind in ('worker', 'claim', 'partner')),
      skeleton text not null,
      since text not null,
      primary key (wallet, kind)
    ) strict, without rowid`,
    `create index names_by_skeleton on names (skeleton, since)`,
    // Names of plain letters that are there already; others come in when they are written again.
    `insert into names select wallet, kind, ${plainSkeleton} as skeleton, since from (
        select wallet, 'worker' as kind, display_name as name, registered_at as since from workers
        union all select wallet, 'claim', display_name, claimed_at from claims
        union all select wallet, 'partner', display_name, created_at from partners
      )
      where wallet is not null and name is not null and name not glob '*[^A-Za-z0-9 ._-]*'
        and ${plainSkeleton} <> ''`,
  ],
} as const satisfies Migration
