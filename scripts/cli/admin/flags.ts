/** `admin flags`: honesty flags that an operator opens or closes, each with its event. */
import { loadReference } from '../../../src/actions/reference.ts'
import { flagKind, severity } from '../../../src/contract/schemas/flag.ts'
import { newId } from '../../../src/core/new-id.ts'
import { isoTime } from '../../../src/core/time.ts'
import { closeFlagWithEvent, listOpenFlags, openFlagWithEvent } from '../../../src/db/flags.ts'
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
    (tx) => openFlagWithEvent(tx, session.random, flag),
  )
}

export async function closeOperatorFlag(session: Session, input: Input): Promise<number> {
  const subject = input.required('flag')
  const reason = input.required('reason')
  const closedAt = isoTime(session.clock.now())
  return await changeDatabase(
    session,
    { command: 'flags close', subject, reason },
    'No open flag has this id.',
    async (tx) => {
      const flag = (await listOpenFlags(tx)).find(({ id }) => id === subject)
      return flag === undefined
        ? null
        : await closeFlagWithEvent(tx, session.random, flag, closedAt, reason, { reason })
    },
  )
}
