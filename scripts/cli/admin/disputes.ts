/** `admin disputes`: the operator answers and decides disputes in public. */
import { disputeState } from '../../../src/contract/schemas/dispute-state.ts'
import { textInput } from '../../../src/contract/schemas/input.ts'
import { isoTime } from '../../../src/core/time.ts'
import { disputeViews, followDispute, listDisputes } from '../../../src/db/disputes.ts'
import { parseOrUsageError } from '../input.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { changeDatabase, printRows } from './settings.ts'

const maxRows = 200

export async function listAllDisputes(session: Session, input: Input): Promise<void> {
  const status = input.text('status')
  const filter = status === undefined ? {} : { state: disputeState.parse(status) }
  const columns = ['dispute_id', 'state', 'standing', 'rail', 'wallet', 'opened_at', 'claim']
  await printRows(session, 'disputes', columns, async (reader) => {
    const records = await listDisputes(reader, { limit: maxRows, before: null, filter })
    return await disputeViews(reader, records, session.clock.now())
  })
}

const follow =
  (event: 'answered' | 'upheld' | 'rejected') => async (session: Session, input: Input) => {
    const id = input.required('dispute')
    const text = parseOrUsageError(textInput(2000), input.required('reason'), '--reason')
    const at = isoTime(session.clock.now())
    return await changeDatabase(
      session,
      { command: `disputes ${event}`, subject: id, reason: text },
      'No dispute with this id allows this step.',
      async (tx) =>
        (await followDispute(tx, id, { event, at, text }))
          ? { dispute_id: id, state: event }
          : null,
    )
  }

export const answerDispute = follow('answered')
export const upholdDispute = follow('upheld')
export const rejectDispute = follow('rejected')
