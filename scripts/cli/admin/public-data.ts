/** What the operator decides about public data: flags, disputes, proposed skills, feedback. */
import { loadReference } from '../../../src/actions/reference.ts'
import { disputeState } from '../../../src/contract/schemas/dispute-state.ts'
import { flagKind, severity } from '../../../src/contract/schemas/flag.ts'
import { textInput } from '../../../src/contract/schemas/input.ts'
import { newId } from '../../../src/core/new-id.ts'
import { isoTime } from '../../../src/core/time.ts'
import { disputeViews, followDispute, disputeRows } from '../../../src/db/disputes.ts'
import { isUniqueViolation } from '../../../src/db/errors.ts'
import { decideProposal, listFeedback, listProposals } from '../../../src/db/feedback.ts'
import { closeFlagWithEvent, listOpenFlags, openFlagWithEvent } from '../../../src/db/flags.ts'
import { findRecord, selectRecords } from '../../../src/db/records.ts'
import { UsageError, parseOrUsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { dataDir } from '../platforms.ts'
import type { Session } from '../session.ts'
import { changeDatabase, printRows } from './settings.ts'

const MAX_ROWS = 200

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

export async function listAllDisputes(session: Session, input: Input): Promise<void> {
  const status = input.text('status')
  const filter = status === undefined ? {} : { state: disputeState.parse(status) }
  const columns = ['dispute_id', 'state', 'standing', 'rail', 'wallet', 'opened_at', 'claim']
  await printRows(session, 'disputes', columns, async (reader) => {
    const id = input.text('cursor')
    const last = id === undefined ? null : await findRecord(reader, 'disputes', { id })
    if (id !== undefined && last === null) throw new UsageError('no dispute has the id in --cursor')
    const page = { limit: MAX_ROWS, before: last?.seq ?? null }
    const records = await disputeRows(filter).read(reader, page)
    return await disputeViews(reader, records, session.clock.now())
  })
}

const followWith =
  (event: 'answered' | 'upheld' | 'rejected' | 'withheld') =>
  async (session: Session, input: Input) => {
    const subject = input.required('dispute')
    const text = parseOrUsageError(textInput(2000), input.required('reason'), '--reason')
    const at = isoTime(session.clock.now())
    return await changeDatabase(
      session,
      { command: `disputes ${event}`, subject, reason: text },
      'No such dispute allows this step.',
      async (tx) => {
        const isFlood = event === 'rejected' && !subject.startsWith('dsp_')
        const match = isFlood ? { standing: 'anyone' as const } : { id: subject }
        const found = await selectRecords(tx, 'disputes', match).orderBy('seq').execute()
        const done: string[] = []
        for (const { id, display, rail, target } of found) {
          const isChosen = [id, display, rail, ...Object.values(target)].includes(subject)
          if (isChosen && (await followDispute(tx, id, { event, at, text }))) done.push(id)
        }
        return done.length === 0 ? null : { event, count: done.length, disputes: done }
      },
    )
  }

export const answerDispute = followWith('answered')
export const upholdDispute = followWith('upheld')
export const rejectDisputes = followWith('rejected')
export const withholdDispute = followWith('withheld')

export async function listSkillProposals(session: Session, input: Input): Promise<void> {
  const statuses = ['pending', 'accepted', 'rejected'] as const
  const status = statuses.find((known) => known === input.text('status')) ?? 'pending'
  const columns = ['id', 'slug', 'category', 'surface', 'createdAt', 'description']
  await printRows(session, 'proposals', columns, (reader) =>
    listProposals(reader, status, MAX_ROWS),
  )
}

const decide = (status: 'accepted' | 'rejected') => async (session: Session, input: Input) => {
  const subject = input.required('proposal')
  const reason = input.text('reason')
  const decision = { status, reason: reason ?? null, decidedAt: isoTime(session.clock.now()) }
  return await changeDatabase(
    session,
    { command: `proposals ${status}`, subject, reason },
    'No pending proposal has this id.',
    (tx) => decideProposal(tx, subject, decision),
  ).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error
    throw new UsageError('a skill with this slug was already accepted')
  })
}

export const acceptProposal = decide('accepted')
export const rejectProposal = decide('rejected')

export async function listMessages(session: Session): Promise<void> {
  const columns = ['createdAt', 'rating', 'page', 'contact', 'message']
  await printRows(session, 'feedback', columns, (reader) => listFeedback(reader, MAX_ROWS))
}
