import { GRACE_MS, PATIENCE_MS, subscriptionAt } from '../../core/partner.ts'
import type { PartnerSubscription } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { findRecord, selectRecords, updateRecord } from '../records.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'
import { toPartner } from './record.ts'

export async function setSubscription(
  db: Db,
  handle: string,
  subscription: PartnerSubscription,
  now: string,
): Promise<void> {
  const { tier, status, renewsAtMs, rateMicroUsdc, onExpiry } = subscription
  const renewsAt = renewsAtMs === null ? null : isoTime(renewsAtMs)
  const changes = { tier, status, renewsAt, rateMicroUsdc, onExpiry }
  await updateRecord(db, 'partners', { handle }, { ...changes, updatedAt: now })
}

/** Writes due status changes; returns their number. Reads do not depend on it: they use `subscriptionAt`. */
export async function expireSubscriptions(db: Db, nowMs: number): Promise<number> {
  const rows = await selectRecords(db, 'partners')
    .where((eb) =>
      eb.or([
        eb('status', '=', 'active').and('renews_at', '<=', isoTime(nowMs)),
        eb('status', '=', 'past_due').and('renews_at', '<=', isoTime(nowMs - GRACE_MS)),
        eb('status', '=', 'pending').and('created_at', '<=', isoTime(nowMs - PATIENCE_MS)),
      ]),
    )
    .orderBy('seq')
    .execute()
  let changed = 0
  for (const { handle, subscription } of rows.map(toPartner)) {
    const current = subscriptionAt(subscription, nowMs)
    if (current === subscription) continue
    await setSubscription(db, handle, current, isoTime(nowMs))
    changed += 1
  }
  return changed
}

export async function changeByPayment(
  db: Db,
  paymentId: string,
): Promise<RecordOf<'subscription_changes'> | null> {
  return await findRecord(db, 'subscription_changes', { paymentId, kind: 'paid' })
}
