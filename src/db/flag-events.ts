/** Changes of flags with their events, in one transaction. */

import type { Random } from '../core/deps.ts'
import { newId } from '../core/new-id.ts'
import { appendEvent } from './events.ts'
import { closeFlag, openFlag } from './flags.ts'
import type { FlagKey, NewFlag } from './flags.ts'
import type { Db } from './schema.ts'

/** Does nothing if an equal flag is open. */
export async function openFlagWithEvent(
  tx: Db,
  random: Pick<Random, 'bytes'>,
  flag: Omit<NewFlag, 'id'>,
): Promise<void> {
  const id = newId(random, 'flg', 9)
  if (!(await openFlag(tx, { ...flag, id }))) return
  const { kind, rail, severity, title, evidence, openedAt } = flag
  await appendEvent(tx, {
    id: newId(random, 'evt', 9),
    kind: 'flag_opened',
    rail,
    severity,
    title,
    data: { flag_id: id, flag_kind: kind, evidence },
    createdAt: openedAt,
  })
}

/** Does nothing if no such flag is open. */
export async function closeFlagWithEvent(
  tx: Db,
  random: Pick<Random, 'bytes'>,
  key: FlagKey,
  closedAt: string,
  reason: string,
): Promise<void> {
  const closed = await closeFlag(tx, key, closedAt, reason)
  if (closed === null) return
  await appendEvent(tx, {
    id: newId(random, 'evt', 9),
    kind: 'flag_closed',
    rail: closed.rail,
    severity: 'info',
    title: closed.title,
    data: { flag_id: closed.id, flag_kind: closed.kind },
    createdAt: closedAt,
  })
}
