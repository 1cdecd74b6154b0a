/**
 * Receipts that wait for the same writer are accepted in groups. One receipt alone costs ten statements, each a round
 * trip to a thread of the driver; a group costs seven in all.
 */
import { DatabaseUnavailableError } from '../db/errors.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { ActionDeps } from './deps.ts'
import { isAfterRestore } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { acceptGroup } from './receipt-acceptance.ts'
import type { Submission } from './receipt-acceptance.ts'

type QueueDeps = Pick<ActionDeps, 'database' | 'siteUrl' | 'requestBuild'>
type Enqueue = (submission: Submission) => Promise<OutcomeOf<'submitReceipt'> | null>

interface Waiting {
  readonly submission: Submission
  readonly resolve: (outcome: OutcomeOf<'submitReceipt'> | null) => void
  readonly reject: (error: unknown) => void
}

/** More than arrive while a group is flushed, and few enough to keep statements short. */
const groupLimit = 128

const queues = new WeakMap<OpenDatabase, Enqueue>()

/**
 * Accepts a receipt with the next group. Null, and nothing written, for one that `acceptSingleReceipt` has to decide.
 * @throws DatabaseUnavailableError where nothing may be acknowledged
 */
export async function enqueueReceipt(
  deps: QueueDeps,
  submission: Submission,
): Promise<OutcomeOf<'submitReceipt'> | null> {
  const { request, proof } = submission
  if (!proof.timely || !(await isAfterRestore(deps, request, [proof]))) return null
  const enqueue = queues.get(deps.database) ?? createQueue(deps)
  queues.set(deps.database, enqueue)
  const outcome = await enqueue(submission)
  if (outcome !== null) deps.requestBuild()
  return outcome
}

function createQueue({ database, siteUrl }: QueueDeps): Enqueue {
  const queue: Waiting[] = []
  let isWriting = false

  /** The group forms when the writer reaches it, with all receipts that arrived until then. */
  const writeGroup = async (): Promise<void> => {
    let group: readonly Waiting[] = []
    try {
      const outcomes = await database.write((tx) => {
        group = queue.splice(0, groupLimit)
        isWriting = false
        writeNext()
        const submissions = group.map(({ submission }) => submission)
        return acceptGroup(tx, submissions, siteUrl)
      })
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] ?? null)
    } catch (error) {
      if (group.length === 0) {
        group = queue.splice(0)
        isWriting = false
      }
      for (const { resolve, reject } of group) {
        if (error instanceof DatabaseUnavailableError) reject(error)
        // One of them cannot be written: alone, the others can.
        else resolve(null)
      }
    }
  }

  const writeNext = (): void => {
    if (isWriting || queue.length === 0) return
    isWriting = true
    void writeGroup()
  }

  return (submission) =>
    new Promise((resolve, reject) => {
      queue.push({ submission, resolve, reject })
      writeNext()
    })
}
