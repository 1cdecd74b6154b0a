/** What a partner has subscribed to, as it is written, and what time makes of it. */
import type { Kysely } from 'kysely'

import { GRACE_MS, PATIENCE_MS, subscriptionAt } from '../../core/partner.ts'
import type { PartnerSubscription } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import { columns, periodsText, toRecord } from './record.ts'

/** Writes a subscription as it now stands, after a payment or a cancellation. */
export async function setSubscription(
  db: Kysely<Database>,
  handle: string,
  subscription: PartnerSubscription,
  now: string,
): Promise<void> {
  const { tier, status, renewsAtMs, periods, onExpiry } = subscription
  const renewsAt = renewsAtMs === null ? null : isoTime(renewsAtMs)
  await db
    .updateTable('partners')
    .set({
      tier,
      status,
      renews_at: renewsAt,
      periods: periodsText(periods),
      on_expiry: onExpiry,
      updated_at: now,
    })
    .where('handle', '=', handle)
    .executeTakeFirstOrThrow()
}

/**
 * Writes what time has decided by `nowMs`: periods that ended, grace that passed, signups that never paid.
 * For a cron job, in a transaction; answers how many partners it moved. Reads need not wait for it, since
 * they ask `subscriptionAt`.
 */
export async function expireSubscriptions(db: Kysely<Database>, nowMs: number): Promise<number> {
  const rows = await db
    .selectFrom('partners')
    .select(columns)
    .where((eb) =>
      eb.or([
        eb('status', '=', 'active').and('renews_at', '<=', isoTime(nowMs)),
        // Several periods may be of several tiers: the next one may have begun.
        eb('status', '=', 'active').and(sql`json_array_length(periods)`, '>', 1),
        eb('status', '=', 'past_due').and('renews_at', '<=', isoTime(nowMs - GRACE_MS)),
        eb('status', '=', 'pending').and('created_at', '<=', isoTime(nowMs - PATIENCE_MS)),
      ]),
    )
    .orderBy('seq')
    .execute()
  let moved = 0
  for (const { handle, subscription } of rows.map(toRecord)) {
    const current = subscriptionAt(subscription, nowMs)
    if (current === subscription) continue
    await setSubscription(db, handle, current, isoTime(nowMs))
    moved += 1
  }
  return moved
}
