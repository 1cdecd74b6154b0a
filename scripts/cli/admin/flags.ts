/** `admin flags`: honesty flags that an operator opens or closes, each with its event. */
import type { Transaction } from 'kysely'

import { loadReference } from '../../../src/actions/reference.ts'
import { flagKind, severity } from '../../../src/contract/schemas/flag.ts'
import type { Random } from '../../../src/core/deps.ts'
import { isoTime } from '../../../src/core/time.ts'
import { appendEvent } from '../../../src/db/events.ts'
import { closeFlag, listOpenFlags, openFlag } from '../../../src/db/flags.ts'
import type { FlagRecord } from '../../../src/db/flags.ts'
import type { Database } from '../../../src/db/schema.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { table } from '../output.ts'
import { dataDir } from '../platforms.ts'
import type { Session } from '../session.ts'
import { changeDatabase, withDatabase } from './settings.ts'

export async function listFlags(session: Session): Promise<void> {
  const flags = await withDatabase(session, ({ reader }) => listOpenFlags(reader), true)
  const columns = ['id', 'severity', 'kind', 'rail', 'openedAt', 'title']
  session.print({ count: flags.length, flags }, table(columns, flags))
}

/** Keeps these flags apart from those of polls, which close on their own. */
const OPERATOR = 'operator'

export async function openOperatorFlag(session: Session, input: Input): Promise<number> {
  const rail = input.text('rail') ?? null
  if (rail !== null && !(await loadReference(dataDir())).rails.has(rail)) {
    throw new UsageError(`there is no rail ${rail}`)
  }
  const reason = input.required('reason')
  const flag = {
    id: newId('flg', session.random),
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
        id: newId('evt', session.random),
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
  const id = input.operand('flag')
  const reason = input.required('reason')
  const at = isoTime(session.clock.now())
  return await changeDatabase(
    session,
    { command: 'flags close', subject: id, reason },
    'No open flag has this id.',
    (tx) => closeById(tx, { id, reason, at }, session.random),
  )
}

async function closeById(
  tx: Transaction<Database>,
  { id, reason, at }: { readonly id: string; readonly reason: string; readonly at: string },
  random: Pick<Random, 'bytes'>,
): Promise<FlagRecord | null> {
  const flag = (await listOpenFlags(tx)).find((candidate) => candidate.id === id)
  const closed = flag === undefined ? null : await closeFlag(tx, flag, at, reason)
  if (closed === null) return null
  await appendEvent(tx, {
    id: newId('evt', random),
    kind: 'flag_closed',
    rail: closed.rail,
    severity: 'info',
    title: closed.title,
    data: { flag_id: closed.id, flag_kind: closed.kind, reason },
    createdAt: at,
  })
  return closed
}

function newId(prefix: string, random: Pick<Random, 'bytes'>): string {
  return `${prefix}_${Buffer.from(random.bytes(9)).toString('hex')}`
}
