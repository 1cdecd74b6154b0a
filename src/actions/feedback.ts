import { sha256Hex } from '../auth/messages.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { FeedbackBody } from '../contract/schemas/feedback.ts'
import { keptRows, writeQuotas } from '../core/limits.ts'
import { newId } from '../core/new-id.ts'
import { isoTime, minuteMs } from '../core/time.ts'
import { findDuplicate } from '../db/feedback.ts'
import { insertRecord, selectRecords } from '../db/records.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import type { IncomingWrite } from './signed-body.ts'
import { fingerprintHashes, enforceRowQuota, networkLocks } from './write-quotas.ts'

const duplicateMs = 15 * minuteMs

/** Returns 201, or 200 for the same text from the same sender within 15 minutes. */
export async function submitFeedback(
  deps: ActionDeps,
  write: IncomingWrite<FeedbackBody>,
): Promise<OutcomeOf<'submitFeedback'>> {
  const { body, request, fingerprint } = write
  const { nowMs } = request
  const { network, userAgent } = fingerprint
  const client = fingerprintHashes(deps, 'feedback', [network, userAgent], nowMs)
  const normalized = body.message.normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ')
  const textHash = sha256Hex(normalized)
  return await commitOnce<AnswerOf<'submitFeedback'>>(
    deps,
    { ...request, rows: keptRows.message, locks: networkLocks(fingerprint) },
    [],
    async (tx) => {
      const since = isoTime(nowMs - duplicateMs)
      const duplicate = await findDuplicate(tx, client.known, textHash, since)
      if (duplicate !== null) {
        return { status: 200, body: { feedback_id: duplicate, deduplicated: true } }
      }
      const ofClient = selectRecords(tx, 'feedback', { fingerprint: client.known })
      await enforceRowQuota(writeQuotas.feedback, nowMs, ofClient, 'created_at')
      const id = newId(deps.random, 'fbk')
      await insertRecord(tx, 'feedback', {
        id,
        fingerprint: client.today,
        textHash,
        message: body.message,
        page: body.page ?? null,
        contact: body.contact ?? null,
        rating: body.rating ?? null,
        createdAt: isoTime(nowMs),
      })
      return { status: 201, body: { feedback_id: id, deduplicated: false } }
    },
  )
}
