/** A receipt that somebody signed before, read back from its JSON. */
import { z } from 'zod'

import { receiptId, signingText } from '../auth/messages.ts'
import { platformReceiptBody, signedReceiptBody } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { CallError } from './errors.ts'
import { signedText } from './prepare.ts'
import type { Sealed, SealedReceipt } from './sign.ts'
import { receiptOf } from './verify-receipt.ts'

const submission = { wallet: true, timestamp: true, signature: true } as const
const sealedReceipt = z.union([
  platformReceiptBody.omit(submission),
  signedReceiptBody.omit(submission),
])

/**
 * The receipt of a JSON object; a whole submission is taken as well.
 * @throws CallError where a field is missing, unknown or out of range. The signature is not checked.
 */
export function openReceipt(json: JsonObject): Sealed<SealedReceipt> {
  const receipt = receiptOf(json)
  const parsed = sealedReceipt.safeParse(receipt)
  if (!parsed.success) {
    throw new CallError(`this is no signed receipt: ${z.prettifyError(parsed.error)}`)
  }
  const carrier = 'platform' in parsed.data ? 'platform_signature' : 'worker_signature'
  return {
    receipt: parsed.data,
    receiptId: receiptId(receipt),
    signed: signedText(carrier, signingText(receipt)),
  }
}
