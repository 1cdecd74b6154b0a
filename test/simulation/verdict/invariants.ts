/** Invariants of the database. Each query counts violations. */
import type { Query } from './snapshot.ts'

/** An unanswered delivery counts as accepted, and an unpaid signup as cancelled, after this time. */
const patienceDays = 14

/** Entries of the log, with those that wait for their place. */
const logged = (kinds: string): string =>
  `(select kind, entry_id from log_queue where kind in (${kinds}) union all
    select kind, entry_id from log_entries where kind in (${kinds})) as logged`

/** Rows of a table without their entry. */
const unlogged = (table: string, kind: string, id = 'id'): string =>
  `${table} where ${id} not in (select entry_id from ${logged(`'${kind}'`)})`

const invariants = {
  'receipts that are not logged': unlogged('receipts', 'receipt'),
  'polls that are not logged': unlogged('polls', 'poll', 'bundle'),
  'entries of wallets that are not logged': `(select 1 where (select count(*) from reputation_ledger) <>
    (select count(*) from ${logged("'reputation'")})) as wrong`,
  'flags and transitions that are not logged': `(select 1 where (select count(*) from events) <>
    (select count(*) from ${logged("'flag', 'transition'")})) as wrong`,
  'events whose time does not grow': `events a join events b on b.seq > a.seq and b.created_at <= a.created_at`,
  'open flags without their event': `flags where not exists (
    select 1 from events where kind = 'flag_opened' and data ->> 'flag_id' = flags.id)`,
  'closed flags without their event': `flags where closed_at is not null and not exists (
    select 1 from events where kind = 'flag_closed' and data ->> 'flag_id' = flags.id)`,
  'references to nothing': `pragma_foreign_key_check`,
  'damaged pages': `pragma_quick_check where quick_check <> 'ok'`,
  'platform receipts without exactly one entry of their pair': `receipts r where kind = 'platform' and 1 <> (
    select count(*) from reputation_ledger e where e.receipt_id = r.id and e.wallet = r.to_wallet
      and e.amount_micro_usdc = r.amount_micro_usdc
      and e.payer = coalesce(r.from_wallet, 'platform:' || r.platform))`,
  'entries without a platform receipt': `reputation_ledger e where not exists (
    select 1 from receipts r where r.id = e.receipt_id and r.kind = 'platform')`,
  'receipts of another amount than the signed one': `receipts
    where content ->> '$.amount_usdc' is not null
      and abs((content ->> '$.amount_usdc') * 1e6 - amount_micro_usdc) > 0.5`,
  'sums of payers that differ from those of their entries': `(
    select wallet, party, sum(paid_micro_usdc) from payer_sums group by 1, 2
    except select wallet, payer, sum(amount_micro_usdc) from reputation_ledger
      where evidence * independence > 0 group by 1, 2)`,
  'standings that differ from the sum of their entries': `reputation s where (entries, receipts, lifetime_micro_usdc) <> (
    select count(*), count(*) filter (where evidence * independence > 0),
      coalesce(sum(amount_micro_usdc) filter (where evidence * independence > 0), 0)
    from reputation_ledger e where e.wallet = s.wallet)`,
  'wallets with entries and no standing': `reputation_ledger where wallet not in (select wallet from reputation)`,
  'skills of workers that differ from their list': `(
    select worker_seq, skill from worker_skills except select seq, value from workers, json_each(skills)
    union all
    select * from (select seq, value from workers, json_each(skills) except select worker_seq, skill from worker_skills))`,
  'names that do not belong to their owners': `(
    select wallet, kind from names
    except select wallet, 'worker' from workers where display_name is not null
    except select wallet, 'claim' from claims except select wallet, 'partner' from partners)`,
  'jobs with a wrong count of bids': `jobs j where bids_count <> (select count(*) from job_bids where job_id = j.id)`,
  'jobs whose status is not that of their last transition': `jobs j where status is not (
    select status_after from job_transitions where job_id = j.id order by seq desc limit 1)`,
  'transitions that no rule allows': `(
    select event, status_after, created_at, job_id,
      lag(status_after, 1, 'none') over (partition by job_id order by seq) as earlier
    from job_transitions)
    where earlier || ' ' || event || ' ' || status_after not in (
      'none post open', 'open bid open', 'open award awarded', 'awarded deliver delivered',
      'delivered accept accepted', 'disputed accept accepted', 'delivered dispute disputed',
      'open cancel cancelled', 'awarded cancel cancelled', 'open expire expired', 'awarded expire expired')`,
  'jobs that expired before their deadline': `job_transitions t join jobs j on j.id = t.job_id
    where event = 'expire' and t.created_at < j.deadline`,
  'transitions of jobs whose time was over': `job_transitions t join jobs j on j.id = t.job_id
    left join job_deliveries d on d.job_id = t.job_id
    where (event in ('bid', 'award', 'deliver', 'cancel') and t.created_at >= j.deadline)
      or (event = 'dispute' and julianday(t.created_at) >= julianday(d.created_at) + ${patienceDays} + 1e-6)`,
  'deliveries that were accepted by the clock too soon': `job_transitions t join job_deliveries d on d.job_id = t.job_id
    where event = 'accept' and role = 'clock'
      and julianday(t.created_at) < julianday(d.created_at) + ${patienceDays} - 1e-6`,
  'bids with a status that their job excludes': `job_bids b join jobs j on j.id = b.job_id
    where b.status <> case when j.awarded_bid = b.id and j.status not in ('expired', 'cancelled') then 'awarded'
      when j.status = 'open' then 'open'
      when j.status in ('expired', 'cancelled') then b.status
      else 'rejected' end
      or (b.status = 'open' and j.status <> 'open')`,
  'accepted jobs without exactly their receipt': `jobs j where status = 'accepted' and 1 <> (
    select count(*) from receipts r join job_bids b on b.id = j.awarded_bid
    where r.job_id = j.id and r.id = j.receipt_id and r.to_wallet = b.bidder
      and r.from_wallet = j.poster and r.amount_micro_usdc = b.price_micro_usdc)`,
  'receipts of jobs that are not accepted': `receipts where job_id is not null
    and job_id not in (select id from jobs where status = 'accepted')`,
  'unpaid signups that ended too soon': `partners where tier <> 'free' and status = 'cancelled'
    and handle not in (select handle from subscription_changes)
    and julianday(updated_at) < julianday(created_at) + ${patienceDays} - 1e-6`,
} as const

const sql = `select ${Object.entries(invariants)
  .map(([name, from]) => `(select count(*) from ${from}) as "${name}"`)
  .join(',\n')}`

export async function violatedInvariants(query: Query): Promise<readonly string[]> {
  const [counts = {}] = await query(sql)
  return Object.entries(counts)
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${String(count)} ${name}`)
}
