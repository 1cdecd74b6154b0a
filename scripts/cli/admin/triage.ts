import { isoTime } from '../../../src/core/time.ts'
import { isUniqueViolation } from '../../../src/db/errors.ts'
import { listFeedback } from '../../../src/db/feedback.ts'
import { decideProposal, listProposals } from '../../../src/db/proposals.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { changeDatabase, printRows } from './settings.ts'

const MAX_ROWS = 200

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
