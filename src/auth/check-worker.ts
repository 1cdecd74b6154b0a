import { parentPort } from 'node:worker_threads'

import { checkHere } from './check.ts'
import type { SignatureCheck } from './check.ts'
import type { SignatureVerdict } from './verdict.ts'

export interface CheckBatch {
  /** Returned with the verdicts, since a later batch may end earlier. */
  readonly id: number
  readonly checks: readonly SignatureCheck[]
}

export interface BatchVerdicts {
  readonly id: number
  readonly verdicts: readonly SignatureVerdict[]
}

export type Ready = 'ready'

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage('ready' satisfies Ready)

parentPort?.on('message', (batch: CheckBatch) => {
  void answer(batch)
})

async function answer({ id, checks }: CheckBatch): Promise<void> {
  const verdicts: SignatureVerdict[] = []
  for (const check of checks) verdicts.push(await checkHere(check))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage({ id, verdicts } satisfies BatchVerdicts)
}
