import { ApiError } from '../contract/errors.ts'
import { skillSlug } from '../contract/schemas/skill.ts'
import type { ProposalBody } from '../contract/schemas/skill.ts'
import { keptRows, writeQuotas } from '../core/limits.ts'
import { newId } from '../core/new-id.ts'
import { isoTime } from '../core/time.ts'
import { findRecord, insertRecord, selectRecords } from '../db/records.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { requireRail } from './reference.ts'
import { invalidField } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'
import { fingerprintHashes, enforceRowQuota } from './write-quotas.ts'

/** @throws ApiError 409 for an existing skill, 422 for an unknown rail */
export async function proposeSkill(
  deps: ActionDeps,
  write: IncomingWrite<ProposalBody>,
): Promise<OutcomeOf<'proposeSkill'>> {
  const { body, request, fingerprint } = write
  const { nowMs } = request
  const slug = slugOf(body.name)
  const reference = deps.reference()
  const { skills } = reference
  const surface = [...new Set(body.surface)]
  for (const rail of surface) requireRail(reference, rail)
  const network = fingerprintHashes(deps, 'proposal', [fingerprint.network], nowMs)
  const terms = { ...request, rows: keptRows.message }
  return await commitOnce(deps, terms, [], async (tx) => {
    const accepted = { slug, status: 'accepted' } as const
    if (skills.has(slug) || (await findRecord(tx, 'skill_proposals', accepted)) !== null) {
      throw new ApiError(
        'conflict',
        `The taxonomy already has the skill ${slug}: use it, or propose another name`,
      )
    }
    const proposed = selectRecords(tx, 'skill_proposals', { network: network.known })
    await enforceRowQuota(writeQuotas.proposals, nowMs, proposed, 'created_at')
    const id = newId(deps.random, 'skp')
    await insertRecord(tx, 'skill_proposals', {
      id,
      slug,
      name: body.name,
      category: body.category,
      surface,
      description: body.description,
      proposer: body.proposer ?? null,
      network: network.today,
      status: 'pending',
      createdAt: isoTime(nowMs),
    })
    return { status: 202, body: { proposal_id: id, slug, status: 'pending' } }
  })
}

/** `Café-Menü Design` becomes `cafe-menu-design`. @throws ApiError 400 without a valid slug */
function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  if (skillSlug.safeParse(slug).success) return slug
  throw invalidField(
    'name',
    'must contain Latin letters or digits and give a slug of at most 64 characters',
  )
}
