/** Checks signatures on worker threads, in one batch per tick. On the event loop, the checks would block all reads. */
import { Worker } from 'node:worker_threads'

import type { Log } from '../core/deps.ts'
import type { BatchVerdicts, CheckBatch, Ready } from './check-worker.ts'
import { checkHere } from './check.ts'
import type { CheckSignature, SignatureCheck } from './check.ts'
import { SchemeUnavailableError } from './verdict.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckThreads {
  readonly check: CheckSignature
  readonly problem: () => string | null
  readonly close: () => Promise<void>
}

interface Waiting {
  readonly check: SignatureCheck
  readonly resolve: (verdict: SignatureVerdict) => void
  readonly reject: (error: Error) => void
}

interface Running {
  readonly worker: Worker
  /** True once the thread has loaded its code. A later exit is caused by its input. */
  isReady: boolean
  readonly pending: Map<number, readonly Waiting[]>
}

const batchLimit = 16
/** A receipt takes the event loop as long as its check takes a thread, so more threads would be idle. */
const mostThreads = 2
const batchesBetweenTries = 256

/** Starts threads on demand. If a thread exits, its checks are rejected (503). Without threads, checks run inline. */
export function createCheckThreads(
  entry: URL,
  { cores, log }: { readonly cores: number; readonly log: Log },
): CheckThreads {
  const limit = Math.min(Math.max(cores - 1, 1), mostThreads)
  const running = new Set<Running>()
  let queued: Waiting[] = []
  let isSendingLater = false
  let isClosed = false
  let batches = 0
  let tryAgainAt = 0

  const start = (): Running => {
    const worker = new Worker(entry)
    const started: Running = { worker, isReady: false, pending: new Map() }
    worker.unref()
    worker.on('message', (message: BatchVerdicts | Ready) => {
      if (message === 'ready') {
        started.isReady = true
        tryAgainAt = 0
        return
      }
      const { id, verdicts } = message
      const batch = started.pending.get(id) ?? []
      started.pending.delete(id)
      for (const [at, { resolve, reject }] of batch.entries()) {
        const verdict = verdicts[at]
        if (verdict === undefined) reject(interrupted())
        else resolve(verdict)
      }
    })
    worker.on('error', (error) => {
      log.error('signature worker thread failed', { error: String(error) })
    })
    worker.on('exit', () => {
      running.delete(started)
      const unanswered = [...started.pending.values()]
      if (started.isReady || isClosed) {
        tryAgainAt = 0
        refuse(unanswered.flat())
        return
      }
      tryAgainAt = batches + batchesBetweenTries
      for (const batch of unanswered) place(batch)
    })
    return started
  }

  const leastBusy = (): Running | null => {
    const all = [...running]
    const ready = all.filter(({ isReady }) => isReady)
    const able = ready.length > 0 ? ready : all
    return able.toSorted((one, other) => one.pending.size - other.pending.size)[0] ?? null
  }

  const startAnother = (): void => {
    try {
      running.add(start())
    } catch (error) {
      log.error('signature worker thread did not start', { error: String(error) })
      tryAgainAt = batches + batchesBetweenTries
    }
  }

  const place = (batch: readonly Waiting[]): void => {
    batches += 1
    const areAllBusy = [...running].every(({ pending }) => pending.size > 0)
    if (areAllBusy && running.size < limit && batches >= tryAgainAt) startAnother()
    const taker = leastBusy()
    if (taker === null) {
      checkAllHere(batch)
      return
    }
    taker.pending.set(batches, batch)
    const pending: CheckBatch = { id: batches, checks: batch.map(({ check }) => check) }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    taker.worker.postMessage(pending)
  }

  const send = (): void => {
    const batch = queued
    queued = []
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
        queued.push({ check, resolve, reject })
        if (queued.length < batchLimit) sendLater()
        else send()
      }),
    problem: () =>
      tryAgainAt === 0 || [...running].some(({ isReady }) => isReady)
        ? null
        : 'signatures: no worker thread is running, so each check delays all other requests',
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
  return new SchemeUnavailableError('the signature check was interrupted: retry the request')
}
