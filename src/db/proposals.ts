/** Skills that somebody proposed for the taxonomy, and what became of them. */
import type { Kysely, Selectable } from 'kysely'

import { fromJsonText, toJsonText } from './json.ts'
import type { Database } from './schema.ts'
import type { SkillProposalsTable } from './tables/feedback.ts'

export interface NewProposal {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly category: string
  /** Rail slugs. */
  readonly surface: readonly string[]
  readonly description: string
  readonly proposer: string | null
  /** Keyed hash of the network it came from. */
  readonly network: string
  readonly createdAt: string
}

export interface ProposalRecord extends Omit<NewProposal, 'network'> {
  readonly status: 'pending' | 'accepted' | 'rejected'
  readonly reason: string | null
  readonly decidedAt: string | null
}

const columns = [
  'id',
  'slug',
  'name',
  'category',
  'surface',
  'description',
  'proposer',
  'status',
  'reason',
  'created_at',
  'decided_at',
] as const satisfies readonly (keyof SkillProposalsTable)[]

function toRecord(
  row: Selectable<Pick<SkillProposalsTable, (typeof columns)[number]>>,
): ProposalRecord {
  const surface = fromJsonText(row.surface)
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    category: row.category,
    surface: Array.isArray(surface) ? surface.map(String) : [],
    description: row.description,
    proposer: row.proposer,
    status: row.status,
    reason: row.reason,
    createdAt: row.created_at,
    decidedAt: row.decided_at,
  }
}

export async function insertProposal(db: Kysely<Database>, proposal: NewProposal): Promise<void> {
  await db
    .insertInto('skill_proposals')
    .values({
      id: proposal.id,
      slug: proposal.slug,
      name: proposal.name,
      category: proposal.category,
      surface: toJsonText(proposal.surface),
      description: proposal.description,
      proposer: proposal.proposer,
      network: proposal.network,
      status: 'pending',
      reason: null,
      created_at: proposal.createdAt,
      decided_at: null,
    })
    .execute()
}

/** Times of what came from one of the network hashes after a time, oldest first. */
export async function proposalTimes(
  db: Kysely<Database>,
  networks: readonly string[],
  after: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('skill_proposals')
    .select('created_at')
    .where('network', 'in', networks)
    .where('created_at', '>', after)
    .orderBy('created_at')
    .execute()
  return rows.map((row) => row.created_at)
}

/** Oldest first. */
export async function listProposals(
  db: Kysely<Database>,
  status: ProposalRecord['status'],
  limit: number,
): Promise<readonly ProposalRecord[]> {
  const rows = await db
    .selectFrom('skill_proposals')
    .select(columns)
    .where('status', '=', status)
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

export async function isAcceptedSlug(db: Kysely<Database>, slug: string): Promise<boolean> {
  const row = await db
    .selectFrom('skill_proposals')
    .select('id')
    .where('slug', '=', slug)
    .where('status', '=', 'accepted')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The operator's verdict over a pending proposal; null where it is none. An accepted one is in the taxonomy from the
 * next build on. Throws a unique violation where the slug was accepted before.
 */
export async function decideProposal(
  db: Kysely<Database>,
  id: string,
  verdict: {
    readonly status: 'accepted' | 'rejected'
    readonly reason: string | null
    readonly decidedAt: string
  },
): Promise<ProposalRecord | null> {
  const row = await db
    .updateTable('skill_proposals')
    .set({ status: verdict.status, reason: verdict.reason, decided_at: verdict.decidedAt })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returning(columns)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}
