/** Honesty flags that a person opens or closes. Each leaves its event, as those of the polls do. */
import type { Transaction } from 'kysely'

import { loadReference } from '../../../src/actions/reference.ts'
import { flagKind, severity } from '../../../src/contract/schemas/flag.ts'
import type { Random } from '../../../src/core/deps.ts'
import { isoTime } from '../../../src/core/time.ts'
import { appendEvent } from '../../../src/db/events.ts'
import { closeFlag, listOpenFlags, openFlag } from '../../../src/db/flags.ts'
import type { FlagRecord } from '../../../src/db/flags.ts'
import type { Database } from '../../../src/db/schema.ts'
import { exitCodes } from '../command.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { table } from '../output.ts'
import { dataDir } from '../platforms.ts'
import type { Session } from '../session.ts'
import { recordAct, withDatabase } from './settings.ts'

export async function list(session: Session): Promise<void> {
  const flags = await withDatabase(session, ({ reader }) => listOpenFlags(reader), true)
  const columns = ['id', 'severity', 'kind', 'rail', 'openedAt', 'title']
  session.print({ count: flags.length, flags }, table(columns, flags))
}

/** The subject keeps it apart from the flags of polls, which close what no longer holds. */
const OPERATOR = 'operator'

export async function open(session: Session, input: Input): Promise<number> {
  const kind = oneOf(flagKind.options, input.needed('kind'), '--kind')
  const level = oneOf(severity.options, input.needed('severity'), '--severity')
  const rail = input.text('rail') ?? null
  if (rail !== null && !(await loadReference(dataDir())).rails.has(rail)) {
    throw new UsageError(`there is no rail ${rail}`)
  }
  const reason = input.needed('reason')
  const flag = {
    id: newId('flg', session.random),
    kind,
    rail,
    subject: OPERATOR,
    severity: level,
    title: input.needed('title'),
    evidence: { reason, opened_by: OPERATOR },
    openedAt: isoTime(session.clock.now()),
  }
  return await withDatabase(session, async (database, config) => {
    const isNew = await database.write(async (tx) => {
      if (!(await openFlag(tx, flag))) return false
      await appendEvent(tx, {
        id: newId('evt', session.random),
        kind: 'flag_opened',
        rail,
        severity: level,
        title: flag.title,
        data: { flag_id: flag.id, flag_kind: kind, evidence: flag.evidence },
        createdAt: flag.openedAt,
      })
      return true
    })
    if (!isNew) {
      session.warn('An operator’s flag of this kind is open on this rail already.\n')
      return exitCodes.refused
    }
    await recordAct(session, config, { command: 'flags open', subject: flag.id, reason })
    session.print(flag)
    return exitCodes.ok
  })
}

export async function close(session: Session, input: Input): Promise<number> {
  const id = input.operand('flag')
  const reason = input.needed('reason')
  const at = isoTime(session.clock.now())
  return await withDatabase(session, async (database, config) => {
    const closed = await database.write((tx) => closeById(tx, { id, reason, at }, session.random))
    if (closed === null) {
      session.warn('There is no open flag of this id.\n')
      return exitCodes.refused
    }
    await recordAct(session, config, { command: 'flags close', subject: id, reason })
    session.print(closed)
    return exitCodes.ok
  })
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

function oneOf<Word extends string>(words: readonly Word[], text: string, option: string): Word {
  const word = words.find((known) => known === text)
  if (word === undefined) throw new UsageError(`${option} is one of ${words.join(', ')}`)
  return word
}
