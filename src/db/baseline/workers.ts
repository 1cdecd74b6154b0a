export const workersSchema = [
  `create table workers (
    seq integer primary key,
    wallet text not null unique,
    display text not null,
    display_name text,
    skills text not null,
    url text,
    bio text,
    receipt_key text,
    registered_at text not null,
    updated_at text not null
  ) strict`,
  `create index workers_by_update on workers (updated_at)`,
  `create table worker_skills (
    skill text not null,
    wallet text not null references workers (wallet),
    primary key (skill, wallet)
  ) strict, without rowid`,
  `create index worker_skills_by_wallet on worker_skills (wallet)`,
  `create table claims (
    id integer primary key,
    wallet text unique,
    display_name text not null,
    method text not null check (method in ('wallet', 'email')),
    email_hash text unique,
    claimed_at text not null
  ) strict`,
  `create table email_codes (
    email_hash text primary key,
    code_hash text not null,
    display_name text not null,
    wallet text,
    tries integer not null,
    expires_at text not null
  ) strict, without rowid`,
  `create table email_sends (
    id integer primary key,
    email_hash text not null,
    remote_hash text not null,
    sent_at text not null
  ) strict`,
  `create index email_sends_by_email on email_sends (email_hash, sent_at)`,
  `create index email_sends_by_remote on email_sends (remote_hash, sent_at)`,
  `create table oath_history (
    seq integer primary key autoincrement,
    kind text not null check (kind in ('worker', 'claim', 'partner', 'write')),
    oath_version integer,
    wallet text not null,
    handle text,
    action text not null,
    message_sha256 text not null,
    signature_sha256 text not null,
    body_sha256 text not null,
    binding text not null check (binding in ('path', 'body', 'statement')),
    created_at text not null
  ) strict`,
  `create index oath_history_by_wallet on oath_history (wallet, seq)`,
  `create index oath_history_by_handle on oath_history (handle, seq) where handle is not null`,
  `create trigger oath_history_no_update before update on oath_history
    begin select raise(abort, 'the oath history is append-only'); end`,
  `create trigger oath_history_no_delete before delete on oath_history
    begin select raise(abort, 'the oath history is append-only'); end`,
] as const satisfies readonly string[]
