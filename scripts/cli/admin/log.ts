import { join } from 'node:path'

import { dropConflicts } from '../../../builder/log/sequence.ts'
import { emptyCheckpoint, loadLogSigner } from '../../../src/auth/notes.ts'
import { findCheckpoint, putCheckpoint } from '../../../src/db/log.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { changeDatabase, settingsOf } from './settings.ts'

/** `admin log accept`: the operator vouches that no reader has seen entries that the database lacks. */
export async function acceptLog(session: Session, input: Input): Promise<number> {
  const [origin, size] = [input.required('origin'), Number(input.required('size'))]
  const subject = `${origin} ${size}`
  const act = { command: 'log accept', subject, reason: input.required('reason') }
  const refusal = 'The database has a different log or a different number of entries.'
  return await changeDatabase(session, act, refusal, async (tx) => {
    const dir = join(settingsOf(session).DATA_DIR, 'keys')
    const signed =
      (await findCheckpoint(tx, 'signed')) ?? emptyCheckpoint(await loadLogSigner(dir, null))
    if (!signed.note.startsWith(`${origin}\n${size}\n`)) return null
    for (const name of ['signed', 'accepted'] as const) {
      await putCheckpoint(tx, name, { size, note: signed.note })
    }
    return { origin, size }
  })
}

/** `admin log drop`: without it the job `log` would never succeed again. */
export async function dropFromQueue(session: Session, input: Input): Promise<number> {
  const act = { command: 'log drop', subject: 'log_queue', reason: input.required('reason') }
  const refusal = 'No queued entry contradicts a logged entry.'
  return await changeDatabase(session, act, refusal, async (tx) => {
    const dropped = await dropConflicts(tx)
    return dropped.length === 0 ? null : { dropped }
  })
}
