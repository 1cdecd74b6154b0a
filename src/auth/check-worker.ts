/** The other side of `check-threads`: takes checks of signatures by the batch and answers their verdicts. */
import { parentPort } from 'node:worker_threads'

import { checkHere } from './check.ts'
import type { SignatureCheck } from './check.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckBatch {
  /** Comes back with the verdicts: a batch may overtake another. */
  readonly id: number
  readonly checks: readonly SignatureCheck[]
}

export interface BatchVerdicts {
  readonly id: number
  /** One for each check, in their order. */
  readonly verdicts: readonly SignatureVerdict[]
}

/** Said once, when the code is loaded. */
export type Ready = 'ready'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
parentPort?.postMessage('ready' satisfies Ready)

parentPort?.on('message', (batch: CheckBatch) => {
  void answer(batch)
})

async function answer({ id, checks }: CheckBatch): Promise<void> {
  const verdicts: SignatureVerdict[] = []
  for (const check of checks) verdicts.push(await checkHere(check))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort?.postMessage({ id, verdicts } satisfies BatchVerdicts)
}
