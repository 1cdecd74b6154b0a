/** Groups concurrent receipts. A single receipt costs fourteen round trips to the driver; a whole group costs eleven. */
import { DatabaseUnavailableError } from '../db/errors.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { ActionDeps } from './deps.ts'
import { lostUntilMs } from './idempotency.ts'
import { acceptGroup } from './receipt-acceptance.ts'
import type { AcceptedOutcome, Submission } from './receipt-acceptance.ts'

type QueueDeps = Pick<ActionDeps, 'database' | 'site' | 'requestBuild'>
type Enqueue = (submission: Submission) => Promise<AcceptedOutcome | null>

interface Waiting {
  readonly submission: Submission
  readonly resolve: (outcome: AcceptedOutcome | null) => void
  readonly reject: (error: unknown) => void
}

/** More receipts than arrive during one flush, but few enough for short statements. */
const groupLimit = 128

const queues = new WeakMap<OpenDatabase, Enqueue>()

/** Returns null if `acceptSingleReceipt` must decide. @throws DatabaseUnavailableError if nothing may be acknowledged */
export async function enqueueReceipt(
  deps: QueueDeps,
  submission: Submission,
): Promise<AcceptedOutcome | null> {
  const { request, proof } = submission
  if (!proof.timely || (await lostUntilMs(deps, request, [proof])) !== null) return null
  const enqueue = queues.get(deps.database) ?? createQueue(deps)
  queues.set(deps.database, enqueue)
  const outcome = await enqueue(submission)
  if (outcome !== null) deps.requestBuild()
  return outcome
}

function createQueue({ database, site }: QueueDeps): Enqueue {
  const queue: Waiting[] = []
  let isWriting = false

  const writeGroup = async (): Promise<void> => {
    let group: readonly Waiting[] = []
    try {
      const outcomes = await database.write((tx) => {
        group = queue.splice(0, groupLimit)
        isWriting = false
        writeNext()
        const submissions = group.map(({ submission }) => submission)
        return acceptGroup(tx, submissions, site.url)
      })
      for (const [at, { resolve }] of group.entries()) resolve(outcomes[at] ?? null)
    } catch (error) {
      if (group.length === 0) {
        group = queue.splice(0)
        isWriting = false
      }
      for (const { resolve, reject } of group) {
        if (error instanceof DatabaseUnavailableError) reject(error)
        // One receipt made the whole group fail. The others can succeed alone.
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
