import { z } from 'zod'

import { signingText } from '../auth/messages.ts'
import { describeIssues } from '../contract/issue-text.ts'
import { platformReceiptBody, signedReceiptBody } from '../contract/schemas/receipt.ts'
import { receiptOfSubmission } from '../core/canonical-json.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { CallError } from './errors.ts'
import type { ReceiptKey } from './signers.ts'

const submissionFields = { wallet: true, timestamp: true, signature: true } as const
const workerReceipt = signedReceiptBody.omit(submissionFields)
const signedReceipt = z.union([platformReceiptBody.omit(submissionFields), workerReceipt])

export type SignedReceipt = z.input<typeof signedReceipt>
export type ReceiptFacts = Omit<z.input<typeof workerReceipt>, 'public_key' | 'worker_signature'>

/** Signs as the platform of the receipt, or as the worker if it has no platform. */
export function signReceipt(
  facts: ReceiptFacts,
  key: ReceiptKey,
  platform?: string,
): SignedReceipt {
  if (platform === undefined) {
    const unsigned = { ...facts, public_key: key.publicKey, worker_signature: '' }
    return { ...unsigned, worker_signature: key.sign(signingText(unsigned)) }
  }
  const unsigned = { ...facts, platform, platform_signature: '' }
  return { ...unsigned, platform_signature: key.sign(signingText(unsigned)) }
}

/** Parses a signed receipt, alone or in a submission. Does not verify the signature. @throws CallError */
export function parseSignedReceipt(json: JsonObject): SignedReceipt {
  const receipt = receiptOfSubmission(json)
  const parsed = signedReceipt.safeParse(receipt)
  if (parsed.success) return parsed.data
  throw new CallError([
    { path: '', message: 'this is not a signed receipt' },
    ...describeIssues(parsed.error, receipt),
  ])
}
