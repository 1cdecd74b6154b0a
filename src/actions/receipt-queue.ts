/**
 * Receipts that wait for the same writer are taken in together. A receipt alone costs ten statements one after the
 * other, each a round trip to a thread of the driver, and those trips are what a busy ledger spends its time on; a
 * group costs seven in all. Whatever is not plainly new (a repeat, a refusal) is left to `commitOnce`.
 */
import { DatabaseUnavailableError } from '../db/errors.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { ActionDeps } from './deps.ts'
import { isAfterRestore } from './idempotency.ts'
import type { Outcome } from './idempotency.ts'
import { acceptGroup } from './receipt-group.ts'
import type { Submission } from './receipt-group.ts'

type IntakeDeps = Pick<ActionDeps, 'database' | 'siteUrl' | 'requestBuild'>
type Intake = (submission: Submission) => Promise<Outcome | null>

interface Waiting {
  readonly submission: Submission
  readonly resolve: (outcome: Outcome | null) => void
  readonly reject: (error: unknown) => void
}

/** More than gathers while the group before is flushed, and few enough that no statement takes long. */
const groupLimit = 128

/** Those that wait for the same writer belong together. */
const intakes = new WeakMap<OpenDatabase, Intake>()

/**
 * Takes a receipt in, durably, or answers null: nothing was written, and `commitOnce` has to decide.
 * @throws DatabaseUnavailableError where nothing may be acknowledged.
 */
export async function enqueueReceipt(
  deps: IntakeDeps,
  submission: Submission,
): Promise<Outcome | null> {
  const { request, proof } = submission
  if (!proof.timely || !(await isAfterRestore(deps, request, [proof]))) return null
  const intake = intakes.get(deps.database) ?? createIntake(deps)
  intakes.set(deps.database, intake)
  const outcome = await intake(submission)
  if (outcome !== null) deps.requestBuild()
  return outcome
}

function createIntake({ database, siteUrl }: IntakeDeps): Intake {
  const queue: Waiting[] = []
  let isWriting = false

  /** The group forms when the writer comes to it: all that came while it was busy is in it. */
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
        // The writer did not come to it.
        group = queue.splice(0)
        isWriting = false
      }
      for (const { resolve, reject } of group) {
        if (error instanceof DatabaseUnavailableError) reject(error)
        // One of them cannot be written: each by itself, and the others can.
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
