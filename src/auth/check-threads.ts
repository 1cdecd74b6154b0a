/**
 * Checks of signatures on threads of their own. They are the most expensive part of a write, and arithmetic: on the
 * event loop every read would wait for them, one after the other. What comes within one turn of the loop goes over
 * together, since a message costs as much as a fifth of a check, whatever is in it; a batch that is full goes at once,
 * so that a thread works while the loop still reads the requests of the same crowd.
 */
import { Worker } from 'node:worker_threads'

import type { Log } from '../core/deps.ts'
import type { BatchVerdicts, CheckBatch, Ready } from './check-worker.ts'
import { checkHere } from './check.ts'
import type { CheckSignature, SignatureCheck } from './check.ts'
import { SchemeUnavailableError } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckThreads {
  readonly check: CheckSignature
  /** What is wrong with them, for the operator; null where nothing is. */
  readonly problem: () => string | null
  /** Ends the threads; what they still had to do is refused. */
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
/** The event loop needs as long for a receipt as a thread for its checks: two can never both be full for long. */
const mostThreads = 2
/** Batches that go elsewhere before another thread is tried, where one could not be had. */
const batchesBetweenTries = 256

/**
 * @param entry `check-worker`, as Node can load it.
 * @param cores how many threads the machine can run at once.
 *
 * The first thread starts with the first check, another when all that run have work and there is a core for it beside
 * that of the event loop. One that ends refuses what it had not answered (503 for the callers: nothing is known of those
 * signatures, so nothing is written), and a later check starts another. Where no thread can be had or can load its code,
 * the checks are made here, slower for everybody else, and another is tried now and then.
 */
export function createCheckThreads(
  entry: URL,
  { cores, log }: { readonly cores: number; readonly log: Log },
): CheckThreads {
  const limit = Math.min(Math.max(cores - 1, 1), mostThreads)
  const running = new Set<Running>()
  let gathered: Waiting[] = []
  let isSendingLater = false
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
      log.error('a thread that checks signatures has failed', { error: String(error) })
    })
    worker.on('exit', () => {
      running.delete(started)
      const left = [...started.sent.values()]
      if (started.isReady || isClosed) {
        // Threads can be had: that the other could not is no reason to do without one.
        tryAgainAt = 0
        refuse(left.flat())
        return
      }
      tryAgainAt = batches + batchesBetweenTries
      for (const batch of left) place(batch)
    })
    return started
  }

  /** Whoever has least to do: of those that have loaded, else of those that load. Null where there is no thread. */
  const leastBusy = (): Running | null => {
    const all = [...running]
    const ready = all.filter(({ isReady }) => isReady)
    const able = ready.length > 0 ? ready : all
    return able.toSorted((one, other) => one.sent.size - other.sent.size)[0] ?? null
  }

  const startAnother = (): void => {
    try {
      running.add(start())
    } catch (error) {
      log.error('no thread for the checks of signatures', { error: String(error) })
      tryAgainAt = batches + batchesBetweenTries
    }
  }

  /** Gives a batch to a thread; where there is none, its checks are made here. */
  const place = (batch: readonly Waiting[]): void => {
    batches += 1
    const areAllBusy = [...running].every(({ sent }) => sent.size > 0)
    if (areAllBusy && running.size < limit && batches >= tryAgainAt) startAnother()
    const taker = leastBusy()
    if (taker === null) {
      checkAllHere(batch)
      return
    }
    taker.sent.set(batches, batch)
    const sent: CheckBatch = { id: batches, checks: batch.map(({ check }) => check) }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
    taker.worker.postMessage(sent)
  }

  const send = (): void => {
    const batch = gathered
    gathered = []
    if (isClosed) refuse(batch)
    else if (batch.length > 0) place(batch)
  }

  const sendLater = (): void => {
    if (isSendingLater) return
    isSendingLater = true
    setImmediate(() => {
      isSendingLater = false
      send()
    })
  }

  return {
    check: (check) =>
      new Promise((resolve, reject) => {
        gathered.push({ check, resolve, reject })
        if (gathered.length < batchLimit) sendLater()
        else send()
      }),
    problem: () =>
      tryAgainAt === 0 || [...running].some(({ isReady }) => isReady)
        ? null
        : 'signatures: no thread checks them, so each check holds up all other requests',
    close: async () => {
      isClosed = true
      await Promise.all([...running].map(({ worker }) => worker.terminate()))
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

function refuse(batch: readonly Waiting[]): void {
  for (const { reject } of batch) reject(interrupted())
}

function interrupted(): SchemeUnavailableError {
  return new SchemeUnavailableError('the check of the signature was interrupted: send it again')
}
