/**
 * Checks of signatures on a thread of their own. They are the most expensive part of a write, and arithmetic: on the
 * event loop every read would wait for them, one after the other. What comes within one turn of the loop goes over
 * together, since a message costs as much as a fifth of a check, whatever is in it.
 */
import { Worker } from 'node:worker_threads'

import type { Log } from '../deps.ts'
import type { BatchVerdicts, CheckBatch } from './check-worker.ts'
import type { CheckSignature, SignatureCheck } from './check.ts'
import { SchemeUnavailableError } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckThread {
  readonly check: CheckSignature
  /** Ends the thread; what it still had to do is refused. */
  readonly close: () => Promise<void>
}

interface Waiting {
  readonly check: SignatureCheck
  readonly resolve: (verdict: SignatureVerdict) => void
  readonly reject: (error: Error) => void
}

/** A thread that runs, with the batches it has not answered. */
interface Running {
  readonly worker: Worker
  readonly sent: Map<number, readonly Waiting[]>
}

/** Two milliseconds of work: the first of a crowd go on while the others are looked at. */
const batchLimit = 16

/**
 * @param entry `check-worker`, as Node can load it.
 *
 * The thread starts with the first check. One that ends refuses what it had not answered (503 for the callers: nothing
 * is known of those signatures, so nothing is written), and the next check starts another.
 */
export function createCheckThread(entry: URL, log: Log): CheckThread {
  let running: Running | null = null
  let gathered: Waiting[] = []
  let isClosed = false
  let batches = 0

  const start = (): Running => {
    const worker = new Worker(entry)
    const started: Running = { worker, sent: new Map() }
    worker.unref()
    worker.on('message', ({ id, verdicts }: BatchVerdicts) => {
      const batch = started.sent.get(id) ?? []
      started.sent.delete(id)
      for (const [at, { resolve, reject }] of batch.entries()) {
        const verdict = verdicts[at]
        if (verdict === undefined) reject(interrupted())
        else resolve(verdict)
      }
    })
    worker.on('error', (error) => {
      log.error('the thread that checks signatures has failed', { error: String(error) })
    })
    worker.on('exit', () => {
      if (running === started) running = null
      for (const { reject } of [...started.sent.values()].flat()) reject(interrupted())
    })
    return started
  }

  const send = (): void => {
    const all = gathered
    gathered = []
    if (isClosed) {
      for (const { reject } of all) reject(interrupted())
      return
    }
    running ??= start()
    for (let at = 0; at < all.length; at += batchLimit) {
      const batch = all.slice(at, at + batchLimit)
      batches += 1
      running.sent.set(batches, batch)
      const sent: CheckBatch = { id: batches, checks: batch.map(({ check }) => check) }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      running.worker.postMessage(sent)
    }
  }

  return {
    check: (check) =>
      new Promise((resolve, reject) => {
        if (gathered.length === 0) setImmediate(send)
        gathered.push({ check, resolve, reject })
      }),
    close: async () => {
      isClosed = true
      await running?.worker.terminate()
    },
  }
}

function interrupted(): SchemeUnavailableError {
  return new SchemeUnavailableError('the check of the signature was interrupted: send it again')
}
