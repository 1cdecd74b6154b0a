import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { RegisterBody } from '../contract/schemas/worker.ts'
import { keptRows } from '../core/limits.ts'
import { mayUse } from '../core/partner.ts'
import { isoTime, timeAfter } from '../core/time.ts'
import { activatedKey, revokedKey, queueEntries } from '../db/log.ts'
import type { QueuedEntry } from '../db/log.ts'
import { putName } from '../db/names.ts'
import { appendOath } from '../db/oaths.ts'
import { findPartner } from '../db/partners.ts'
import type { Db } from '../db/schema.ts'
import { findWorker, putWorker } from '../db/workers.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { requireOath } from './oaths.ts'
import { partnerAt } from './partner-access.ts'
import { unknownName } from './reference.ts'
import { requirePublicKey, verifySignedBody } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'

/** Returns 201, or 200 for a new profile of a registered wallet. */
export async function registerWorker(
  deps: ActionDeps,
  write: IncomingWrite<RegisterBody>,
): Promise<OutcomeOf<'registerWorker'>> {
  const { body, json, request } = write
  const { oath_signature: oathSignature, receipt_key: receiptKey = null } = body
  if (receiptKey !== null) requirePublicKey(receiptKey, 'receipt_key')
  const proof = await verifySignedBody(deps, write, messages.register)
  const oath =
    oathSignature === undefined
      ? null
      : await requireOath(
          deps,
          { kind: 'worker', json, ...body, signature: oathSignature },
          request,
        )
  const now = isoTime(request.nowMs)
  const terms = { ...request, rows: keptRows.registration + body.skills.length, locks: [] }
  return await commitOnce(deps, terms, [proof], async (tx) => {
    const { nowMs } = request
    await requireSkills(deps, tx, { walletId: proof.wallet.id, skills: body.skills, nowMs })
    const before = await findWorker(tx, proof.wallet.id)
    // Ids of key changes contain their time.
    const updatedAt = timeAfter(before?.updated_at, now)
    const change = keyChange(proof.wallet.id, before?.receipt_key, receiptKey, updatedAt)
    await putWorker(tx, {
      wallet: proof.wallet,
      displayName: body.display_name ?? null,
      skills: body.skills,
      url: body.url ?? null,
      bio: body.bio ?? null,
      receiptKey,
      agent: body.erc8004 ?? null,
      now: updatedAt,
    })
    await queueEntries(tx, change)
    if (oath !== null) {
      await appendOath(tx, { ...oath, action: 'registerWorker', createdAt: now })
    }
    const name = body.display_name ?? null
    await putName(tx, { wallet: proof.wallet.id, kind: 'worker', name, now })
    const worker = await findWorker(tx, proof.wallet.id)
    if (worker === null) throw new Error('worker not found in its own transaction')
    return { status: before === null ? 201 : 200, body: worker }
  })
}

function keyChange(
  owner: string,
  before: string | undefined,
  key: string | null,
  now: string,
): readonly QueuedEntry[] {
  if (key === (before ?? null)) return []
  return [
    ...(before === undefined ? [] : [revokedKey({ owner, public_key: before }, now)]),
    ...(key === null ? [] : [activatedKey({ owner, public_key: key }, now)]),
  ]
}

/** @throws ApiError 422: only partners may declare skills outside the taxonomy. */
async function requireSkills(
  deps: Pick<ActionDeps, 'reference'>,
  tx: Db,
  by: { readonly walletId: string; readonly skills: readonly string[]; readonly nowMs: number },
): Promise<void> {
  const known = deps.reference().skills
  const unknown = by.skills.find((skill) => !known.has(skill))
  if (unknown === undefined) return
  const partner = await findPartner(tx, { wallet: by.walletId })
  const status = partner === null ? null : partnerAt(partner, by.nowMs).subscription.status
  if (status !== null && mayUse(status, 'write')) return
  const problem = unknownName('skill', unknown, known)
  throw new ApiError('refused', `${problem}. Only partners may declare skills outside the taxonomy`)
}
