/** Looks at the file from outside of the simulated processes, on a connection of its own. */
import type sqlite3 from 'sqlite3'

import { realSqlite3 } from './sqlite-driver.ts'

export interface DatabaseProbe {
  /** The one column of the one row, as JSON. */
  readonly json: (sql: string, parameters?: readonly unknown[]) => Promise<unknown>
  readonly close: () => Promise<void>
}

export async function openProbe(path: string): Promise<DatabaseProbe> {
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened: sqlite3.Database = new realSqlite3.Database(
      path,
      realSqlite3.OPEN_READWRITE,
      (error) => (error === null ? resolve(opened) : reject(error)),
    )
  })
  const statements = new Map<string, sqlite3.Statement>()
  const prepared = (sql: string): sqlite3.Statement => {
    const found = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, found)
    return found
  }
  return {
    json: (sql, parameters = []) =>
      new Promise((resolve, reject) => {
        // To the last row: a statement that stops before holds on to its state of the file.
        prepared(sql).all<Readonly<Record<string, string>>>([...parameters], (error, rows) => {
          if (error !== null) reject(error)
          else resolve(JSON.parse(Object.values(rows[0] ?? {})[0] ?? 'null'))
        })
      }),
    close: async () => {
      for (const statement of statements.values()) statement.finalize()
      await new Promise<void>((resolve, reject) => {
        database.close((error) => (error === null ? resolve() : reject(error)))
      })
    },
  }
}

const list = (columns: string, from: string, all = '*'): string =>
  `(select json_group_array(json_array(${columns})) from (select ${all} from ${from}))`

/** Rows that are new: after the numbers of the last look. */
export const newsSql = `select json_object(
  'used', ${list('wallet, message_sha256, request_sha256, status, json(answer)', 'used_messages where rowid > ?1 order by rowid')},
  'held', ${list('wallet, message_sha256', 'used_messages')},
  'keys', ${list('caller, key, request_sha256, status, json(answer), expires_at', 'idempotency_keys')},
  'feedback', ${list('id, message, created_at', 'feedback where rowid > ?2 order by rowid')},
  'proposals', ${list('id, description, created_at', 'skill_proposals where rowid > ?3 order by rowid')},
  'audit', ${list('seq, wallet, handle, action, message_sha256, created_at', 'oath_history where seq > ?4 order by seq')},
  'moves', ${list('seq, job_id, event', "job_transitions where role = 'clock' and seq > ?5 order by seq")},
  'issued', ${list('id, job_id', 'receipts where job_id is not null and seq > ?6 order by seq')},
  'payments', (select json_group_array(json_object('id', id, 'payer', payer, 'nonce', nonce, 'payTo', pay_to,
    'amountMicro', amount_micro_usdc, 'validBefore', valid_before, 'purpose', purpose, 'resource', resource,
    'state', state, 'txHash', tx_hash, 'blockNumber', block_number, 'blockHash', block_hash, 'finality', finality,
    'isDelivered', delivered_at is not null)) from payments),
  'emails', json_object(
    'sends', ${list('email_hash, sent_at', 'email_sends order by rowid')},
    'codes', ${list('email_hash, code_hash, display_name, wallet, tries, expires_at', 'email_codes')}),
  'outbox', json_object(
    'events', ${list('seq, id, kind, rail', 'events where seq > ?7 order by seq')},
    'cursor', (select coalesce(max(value), '0') from meta where key = 'webhooks_cursor'),
    'disabled', ${list('id', "alert_subscriptions where status = 'disabled'")},
    'webhookDeliveries', (select json_group_array(json_object('id', id, 'subscription', subscription_id, 'eventSeq', event_seq,
      'type', type, 'status', status, 'attempts', attempts, 'fence', lease_version, 'leasedUntilMs', leased_until))
      from (select * from alert_deliveries order by id))),
  'ended', ${list('handle', "partners where status = 'cancelled'")},
  'last', (select json_array(
    (select coalesce(max(rowid), 0) from used_messages),
    (select coalesce(max(rowid), 0) from feedback),
    (select coalesce(max(rowid), 0) from skill_proposals),
    (select coalesce(max(seq), 0) from oath_history),
    (select coalesce(max(seq), 0) from job_transitions),
    (select coalesce(max(seq), 0) from receipts),
    (select coalesce(max(seq), 0) from events)
  ))
)`

/** Everything that the model has an opinion of. */
export const dumpSql = `select json_object(
  'workers', ${list('wallet, display_name, json(skills), receipt_key, registered_at, updated_at', 'workers order by seq')},
  'worker skills', ${list('wallet, skill', 'worker_skills order by wallet, skill')},
  'names', ${list('kind, wallet, since', 'names order by kind, wallet')},
  'receipts', ${list('id, to_wallet, from_wallet, submitter, kind, platform, amount_micro_usdc, accepted_at, job_id', 'receipts order by seq')},
  'entries', ${list('wallet, receipt_id, payer, payer_rank, amount_micro_usdc, value_micro_usdc, created_at', 'reputation_ledger order by seq')},
  'standings', ${list('wallet, entries, receipts, lifetime_micro_usdc', 'reputation order by wallet')},
  'claims', ${list('wallet, email_hash, display_name, claimed_at', 'claims order by id')},
  'codes', ${list('email_hash, code_hash, display_name, tries, expires_at', 'email_codes order by email_hash')},
  'partners', ${list('handle, wallet, display_name, tier, status, website, require_body_signature, attestation_url, attestation_signed_at, created_at', 'partners order by seq')},
  'changes', ${list('handle, kind, tier, created_at', 'subscription_changes order by seq')},
  'webhooks', ${list('id, wallet, url, json(rails), status, created_at, after_seq', 'alert_subscriptions order by id')},
  'deliveries of webhooks', ${list('id, subscription_id, event_seq, type, status, attempts', 'alert_deliveries order by id')},
  'applications', ${list('id, partner, rail, worker_wallet, mode, outcome, submitted_at', 'applications order by rowid')},
  'jobs', ${list('id, poster, title, status, deadline, bids_count, awarded_bid, receipt_id', 'jobs order by seq')},
  'bids', ${list('id, job_id, bidder, price_micro_usdc, status', 'job_bids order by id')},
  'deliveries', ${list('id, job_id, deliverer', 'job_deliveries order by seq')},
  'moves', ${list('job_id, event, role, actor, status_after', 'job_transitions order by seq')},
  'audit', ${list('kind, wallet, handle, action, created_at', 'oath_history order by seq')},
  'feedback', ${list('id, message, created_at', 'feedback order by rowid')},
  'proposals', ${list('id, description, created_at', 'skill_proposals order by rowid')},
  'used', ${list('wallet, message_sha256, request_sha256, status', 'used_messages order by wallet, message_sha256')},
  'keys', ${list('caller, key, request_sha256, status, expires_at', 'idempotency_keys order by caller, key')}
)`

/** Invariants of the file; each counts violations. */
export const soundSql = `select json_object(
  'events whose time does not grow', (select count(*) from events as a join events as b on b.seq > a.seq and b.created_at <= a.created_at),
  'open flags without their event', (select count(*) from flags where not exists (
    select 1 from events where kind = 'flag_opened' and data ->> 'flag_id' = flags.id)),
  'closed flags without their event', (select count(*) from flags where closed_at is not null and not exists (
    select 1 from events where kind = 'flag_closed' and data ->> 'flag_id' = flags.id)),
  'references to nothing', (select count(*) from pragma_foreign_key_check),
  'damage', (select count(*) from pragma_quick_check where quick_check <> 'ok')
)`
