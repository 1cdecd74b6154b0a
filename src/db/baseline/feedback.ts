/** Feedback, proposed skills and applications to rails. */
export const feedbackSchema = [
  `create table feedback (
    id text primary key,
    fingerprint text not null,
    network text not null,
    text_hash text not null,
    message text not null,
    page text,
    contact text,
    rating integer,
    created_at text not null
  ) strict`,
  `create index feedback_by_fingerprint on feedback (fingerprint, created_at)`,
  `create index feedback_by_network on feedback (network, created_at)`,
  `create index feedback_by_time on feedback (created_at)`,
  `create table skill_proposals (
    id text primary key,
    slug text not null,
    name text not null,
    category text not null,
    surface text not null,
    description text not null,
    proposer text,
    network text not null,
    status text not null check (status in ('pending', 'accepted', 'rejected')),
    reason text,
    created_at text not null,
    decided_at text
  ) strict`,
  `create unique index skill_proposals_accepted on skill_proposals (slug) where status = 'accepted'`,
  `create index skill_proposals_by_status on skill_proposals (status, created_at)`,
  `create index skill_proposals_by_network on skill_proposals (network, created_at)`,
  `create table applications (
    id text primary key,
    partner text not null,
    rail text not null,
    worker_wallet text not null,
    content_sha256 text not null,
    mode text not null check (mode in ('forwarded', 'manual')),
    outcome text not null check (outcome in ('running', 'accepted', 'refused', 'failed', 'unknown', 'manual')),
    upstream_status integer,
    fault text,
    request_sha256 text not null,
    message_sha256 text not null,
    idempotency_key text,
    submitted_at text not null,
    finished_at text
  ) strict`,
  `create index applications_by_partner on applications (partner, submitted_at)`,
  `create index applications_by_message on applications (partner, message_sha256)`,
  `create index applications_by_key on applications (partner, idempotency_key)
    where idempotency_key is not null`,
] as const satisfies readonly string[]
