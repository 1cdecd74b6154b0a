/**
 * Checks of signatures on a thread of their own. They are the most expensive part of a write, and arithmetic: on the
 * event loop every read would wait for them, one after the other. What comes within one turn of the loop goes over
 * together, since a message costs as much as a fifth of a check, whatever is in it.
 */
import { Worker } from 'node:worker_threads'

import type { Log } from '../deps.ts'
import type { BatchVerdicts, CheckBatch, Ready } from './check-worker.ts'
import { checkHere } from './check.ts'
import type { CheckSignature, SignatureCheck } from './check.ts'
import { SchemeUnavailableError } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckThread {
  readonly check: CheckSignature
  /** What is wrong with it, for the operator; null where nothing is. */
  readonly problem: () => string | null
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
  /** It has loaded: what ends it now is what it was given. */
  isReady: boolean
  readonly sent: Map<number, readonly Waiting[]>
}

/** Two milliseconds of work: the first of a crowd go on while the others are looked at. */
const batchLimit = 16
/** Batches that are checked here before another thread is tried, where one could not be had. */
const batchesBetweenTries = 256

/**
 * @param entry `check-worker`, as Node can load it.
 *
 * The thread starts with the first check. One that ends refuses what it had not answered (503 for the callers: nothing
 * is known of those signatures, so nothing is written), and the next check starts another. Where a thread cannot be had or
 * cannot load its code, the checks are made here, slower for everybody else, and another is tried now and then.
 */
export function createCheckThread(entry: URL, log: Log): CheckThread {
  let running: Running | null = null
  let gathered: Waiting[] = []
  let isClosed = false
  let batches = 0
  let tryAgainAt = 0

  const start = (): Running => {
    const worker = new Worker(entry)
    const started: Running = { worker, isReady: false, sent: new Map() }
    worker.unref()
    worker.on('message', (message: BatchVerdicts | Ready) => {
      if (message === 'ready') {
        started.isReady = true
        tryAgainAt = 0
        return
      }
      const { id, verdicts } = message
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
      const left = [...started.sent.values()].flat()
      if (started.isReady || isClosed) {
        for (const { reject } of left) reject(interrupted())
        return
      }
      tryAgainAt = batches + batchesBetweenTries
      checkAllHere(left)
    })
    return started
  }

  /** The thread; null where there is none to be had. */
  const thread = (): Running | null => {
    if (running !== null) return running
    if (batches < tryAgainAt) return null
    try {
      running = start()
    } catch (error) {
      log.error('no thread for the checks of signatures', { error: String(error) })
      tryAgainAt = batches + batchesBetweenTries
    }
    return running
  }

  const send = (): void => {
    const all = gathered
    gathered = []
    if (isClosed) {
      for (const { reject } of all) reject(interrupted())
      return
    }
    for (let at = 0; at < all.length; at += batchLimit) {
      const batch = all.slice(at, at + batchLimit)
      batches += 1
      const taker = thread()
      if (taker === null) {
        checkAllHere(batch)
        continue
      }
      taker.sent.set(batches, batch)
      const sent: CheckBatch = { id: batches, checks: batch.map(({ check }) => check) }
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
      taker.worker.postMessage(sent)
    }
  }

  return {
    check: (check) =>
      new Promise((resolve, reject) => {
        if (gathered.length === 0) setImmediate(send)
        gathered.push({ check, resolve, reject })
      }),
    problem: () =>
      tryAgainAt === 0
        ? null
        : 'signatures: no thread checks them, so each check holds up all other requests',
    close: async () => {
      isClosed = true
      await running?.worker.terminate()
    },
  }
}

function checkAllHere(batch: readonly Waiting[]): void {
  for (const { check, resolve, reject } of batch) {
    checkHere(check).then(resolve, (error: unknown) => {
      reject(error instanceof SchemeUnavailableError ? error : interrupted())
    })
  }
}

function interrupted(): SchemeUnavailableError {
  return new SchemeUnavailableError('the check of the signature was interrupted: send it again')
}
