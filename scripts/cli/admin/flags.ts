/** `admin flags`: honesty flags that an operator opens or closes, each with its event. */
import { loadReference } from '../../../src/actions/reference.ts'
import { flagKind, severity } from '../../../src/contract/schemas/flag.ts'
import { newId } from '../../../src/core/new-id.ts'
import { isoTime } from '../../../src/core/time.ts'
import { appendEvent } from '../../../src/db/events.ts'
import { closeFlag, listOpenFlags, openFlag } from '../../../src/db/flags.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { dataDir } from '../platforms.ts'
import type { Session } from '../session.ts'
import { changeDatabase, printRows } from './settings.ts'

export async function listFlags(session: Session): Promise<void> {
  const columns = ['id', 'severity', 'kind', 'rail', 'openedAt', 'title']
  await printRows(session, 'flags', columns, listOpenFlags)
}

/** Polls close only flags with other subjects. */
const OPERATOR = 'operator'

export async function openOperatorFlag(session: Session, input: Input): Promise<number> {
  const rail = input.text('rail') ?? null
  if (rail !== null && !(await loadReference(dataDir())).rails.has(rail)) {
    throw new UsageError(`there is no rail ${rail}`)
  }
  const reason = input.required('reason')
  const flag = {
    id: newId(session.random, 'flg', 9),
    kind: flagKind.parse(input.required('kind')),
    rail,
    subject: OPERATOR,
    severity: severity.parse(input.required('severity')),
    title: input.required('title'),
    evidence: { reason, opened_by: OPERATOR },
    openedAt: isoTime(session.clock.now()),
  }
  return await changeDatabase(
    session,
    { command: 'flags open', subject: flag.id, reason },
    'An operator flag of this kind is already open on this rail.',
    async (tx) => {
      if (!(await openFlag(tx, flag))) return null
      await appendEvent(tx, {
        id: newId(session.random, 'evt', 9),
        kind: 'flag_opened',
        rail,
        severity: flag.severity,
        title: flag.title,
        data: { flag_id: flag.id, flag_kind: flag.kind, evidence: flag.evidence },
        createdAt: flag.openedAt,
      })
      return flag
    },
  )
}

export async function closeOperatorFlag(session: Session, input: Input): Promise<number> {
  const subject = input.required('flag')
  const reason = input.required('reason')
  const createdAt = isoTime(session.clock.now())
  return await changeDatabase(
    session,
    { command: 'flags close', subject, reason },
    'No open flag has this id.',
    async (tx) => {
      const flag = (await listOpenFlags(tx)).find(({ id }) => id === subject)
      const closed = flag === undefined ? null : await closeFlag(tx, flag, createdAt, reason)
      if (closed === null) return null
      await appendEvent(tx, {
        id: newId(session.random, 'evt', 9),
        kind: 'flag_closed',
        rail: closed.rail,
        severity: 'info',
        title: closed.title,
        data: { flag_id: closed.id, flag_kind: closed.kind, reason },
        createdAt,
      })
      return closed
    },
  )
}
