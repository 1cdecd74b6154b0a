import { z } from 'zod'

import {
  bodyModel,
  list,
  model,
  named,
  pageFields,
  railSlug,
  sha256Hex,
  text,
  time,
  url,
  wallet,
} from './common.ts'
import { disputeId, disputeStanding, disputeState } from './dispute-state.ts'
import { httpsInput, lineInput, signedFields, textInput } from './input.ts'
import { receiptId } from './receipt.ts'

export const disputeTarget = named(
  'DisputeTarget',
  z.union(
    [
      bodyModel('DocumentTarget', {
        path: text(512).regex(/^\/[\w.~/-]*$/, 'must be the path of a published document'),
        sha256: sha256Hex,
      }),
      bodyModel('FlagTarget', {
        flag_id: text(80).regex(/^flg_[0-9a-f]{1,64}$/, 'must be the id of a flag'),
      }),
      bodyModel('ReceiptTarget', { receipt_id: receiptId }),
    ],
    'must have path and sha256 of a document, the flag_id of a flag, or the receipt_id of a receipt',
  ),
)
export type DisputeTarget = z.infer<typeof disputeTarget>

export const disputeBody = bodyModel('DisputeBody', {
  target: disputeTarget.describe('A document as published, a flag, or a receipt.'),
  claim: textInput(2000).describe('What is wrong, in at most 2,000 characters.'),
  figure: lineInput(80).optional().describe('Name of the disputed figure or field.'),
  evidence_url: httpsInput.optional(),
  ...signedFields,
})
export type DisputeBody = z.infer<typeof disputeBody>

export const withdrawalBody = bodyModel('DisputeWithdrawal', {
  dispute_id: disputeId.describe('The id in the path, so that the signature covers it.'),
  ...signedFields,
})
export type WithdrawalBody = z.infer<typeof withdrawalBody>

export const disputeStep = model('DisputeStep', {
  step_id: text(40),
  dispute_id: disputeId,
  event: z.enum(['opened', 'answered', 'upheld', 'rejected', 'withdrawn', 'withheld']),
  at: time,
  text: text(2000).optional().describe('The claim, the answer, or the reason of the operator.'),
  wallet: wallet.optional(),
  target: disputeTarget.optional(),
  target_is_current: z.literal(false).optional(),
  figure: text(80).optional(),
  evidence_url: url.optional(),
  sha256: sha256Hex.optional().describe('Of the step with the words that were withheld.'),
})
export type DisputeStep = z.infer<typeof disputeStep>

export const dispute = model('Dispute', {
  dispute_id: disputeId,
  state: disputeState,
  standing: disputeStanding,
  rail: railSlug.optional(),
  wallet: wallet.describe('Who disputes.'),
  target: disputeTarget,
  claim: text(2000).optional(),
  figure: text(80).optional(),
  evidence_url: url.optional(),
  opened_at: time,
  updated_at: time,
  unanswered: z.literal(true).optional(),
  steps: list(disputeStep, 10),
})
export type Dispute = z.infer<typeof dispute>

export const disputeList = model('DisputeList', {
  ...pageFields,
  disputes: list(dispute, 200),
  computed_at: time,
})
