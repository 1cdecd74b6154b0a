/** What people sent in, and what the operator makes of it. */
import { isoTime } from '../../../src/core/time.ts'
import { isUniqueViolation } from '../../../src/db/errors.ts'
import { listFeedback } from '../../../src/db/feedback.ts'
import { decideProposal, listProposals } from '../../../src/db/proposals.ts'
import type { ProposalRecord } from '../../../src/db/proposals.ts'
import { exitCodes } from '../command.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { table } from '../output.ts'
import type { Session } from '../session.ts'
import { recordAct, withDatabase } from './settings.ts'

const MOST = 200

export async function proposals(session: Session, input: Input): Promise<void> {
  const status = statusOf(input.text('status') ?? 'pending')
  const found = await withDatabase(
    session,
    ({ reader }) => listProposals(reader, status, MOST),
    true,
  )
  const columns = ['id', 'slug', 'category', 'surface', 'createdAt', 'description']
  session.print({ count: found.length, proposals: found }, table(columns, found))
}

function statusOf(text: string): ProposalRecord['status'] {
  const statuses = ['pending', 'accepted', 'rejected'] as const
  const status = statuses.find((known) => known === text)
  if (status === undefined) throw new UsageError(`--status is one of ${statuses.join(', ')}`)
  return status
}

export async function decide(
  session: Session,
  input: Input,
  status: 'accepted' | 'rejected',
): Promise<number> {
  const id = input.operand('proposal')
  const reason = input.text('reason')
  const decidedAt = isoTime(session.clock.now())
  return await withDatabase(session, async (database, config) => {
    const decided = await database
      .write((tx) => decideProposal(tx, id, { status, reason: reason ?? null, decidedAt }))
      .catch((error: unknown) => {
        if (isUniqueViolation(error))
          throw new UsageError('a skill of this slug was accepted before')
        throw error
      })
    if (decided === null) {
      session.warn('There is no pending proposal of this id.\n')
      return exitCodes.refused
    }
    await recordAct(session, config, { command: `proposals ${status}`, subject: id, reason })
    session.print(decided)
    return exitCodes.ok
  })
}

export async function feedback(session: Session): Promise<void> {
  const found = await withDatabase(session, ({ reader }) => listFeedback(reader, MOST), true)
  const columns = ['createdAt', 'rating', 'page', 'contact', 'message']
  session.print({ count: found.length, feedback: found }, table(columns, found))
}
