import { z } from 'zod'

import { jobEvents, jobStatuses, jobTextsKeptDays } from '../../core/job.ts'
import { checkOutboundUrl } from '../../core/outbound-url.ts'
import {
  count,
  bodyModel,
  model,
  pageFields,
  sha256Hex,
  time,
  url,
  usdc,
  wallet,
  text,
  list,
} from './common.ts'
import { amountInput, lineInput, textInput, timeInput, signedFields } from './input.ts'
import { receiptId, receiptLog } from './receipt.ts'
import { skillsInput } from './worker.ts'

export const jobId = z.string().regex(/^job_[0-9a-f]{24}$/, 'must be job_ and 24 hex digits')
const bidId = z.string().regex(/^bid_[0-9a-f]{24}$/, 'must be bid_ and 24 hex digits')
const deliveryId = z.string().regex(/^dlv_[0-9a-f]{24}$/)
export const jobStatus = z.enum(jobStatuses)
const bidStatus = z.enum(['open', 'awarded', 'rejected', 'lapsed'])
const etaHours = z.int().min(1).max(8760)

const removedTexts = (texts: string, ended: string) => ({
  texts_sha256: sha256Hex
    .optional()
    .describe(`SHA-256 of the removed texts: ${texts} as canonical JSON (RFC 8785).`),
  texts_removed_at: time
    .optional()
    .describe(
      `The texts of a ${ended} are removed after ${jobTextsKeptDays} days. Then they are empty.`,
    ),
})

const jobFields = {
  id: jobId,
  poster: wallet,
  title: text(160),
  description: text(8000),
  skills: list(text(64), 32),
  budget_usdc: usdc,
  deadline: time.describe(
    'Delivery must happen before this time; then an open or awarded job expires.',
  ),
  status: jobStatus,
  bids_count: count,
  awarded_bid: bidId.optional(),
  worker: wallet.optional().describe('The awarded bidder.'),
  price_usdc: usdc.optional().describe('The price of the awarded bid.'),
  answer_due: time
    .optional()
    .describe(
      'While a delivery awaits its answer: after this time it counts as accepted and can no longer be disputed.',
    ),
  receipt_id: receiptId.optional().describe('The receipt issued on acceptance.'),
  ...removedTexts('an object of title, description and skills', 'cancelled or expired job'),
  created_at: time,
  updated_at: time,
  url,
}

export const job = model('Job', jobFields)
export type Job = z.infer<typeof job>

const mover = z.enum(['poster', 'worker', 'bidder', 'time'])

export const jobDetail = model('JobDetail', {
  ...jobFields,
  delivery: z.object({ id: deliveryId, content_sha256: sha256Hex, created_at: time }).optional(),
  dispute: z.object({ by: mover, reason: text(2000), opened_at: time }).optional(),
  history: list(
    z.object({ event: z.enum(jobEvents), by: mover, status: jobStatus, at: time }),
    100,
  ),
})
export type JobDetail = z.infer<typeof jobDetail>

/** The signer of the receipts of accepted jobs. */
export const jobIssuer = model('JobReceiptIssuer', {
  platform: z.literal('job-exchange'),
  rail: z.literal('job_exchange'),
  public_key: text(44).describe('Base64 of the 32-byte ed25519 key.'),
  retired: list(z.object({ public_key: text(44), retired_at: time }), 100).optional(),
})

export type JobIssuer = z.infer<typeof jobIssuer>

export const jobList = model('JobList', {
  ...pageFields,
  jobs: list(job, 200),
  receipts_by: jobIssuer,
  computed_at: time,
})

export const bid = model('Bid', {
  id: bidId,
  job_id: jobId,
  bidder: wallet,
  price_usdc: usdc,
  eta_hours: etaHours,
  proposal: text(4000),
  status: bidStatus.describe('`lapsed`: the job was cancelled or expired before an award.'),
  ...removedTexts('an object of proposal', 'rejected or lapsed bid'),
  created_at: time,
  updated_at: time,
})
export type Bid = z.infer<typeof bid>

export const bidList = model('BidList', {
  ...pageFields,
  bids: list(bid, 200),
})

export const delivery = model('Delivery', {
  id: deliveryId,
  job_id: jobId,
  deliverer: wallet,
  uri: url,
  content_sha256: sha256Hex,
  note: text(2000).optional(),
  wallet: wallet.describe('Exactly as signed.'),
  timestamp: text(35).describe('Exactly as signed.'),
  signature: text(16_386).describe(
    'Signature over `<service>-deliver-v1:{WALLET}:{TIMESTAMP}:{JOB_ID}:{BODY_SHA256}`; the body is `uri`, `content_sha256`, `note`, `wallet`, `timestamp` and `signature` set to `""`.',
  ),
  created_at: time,
})
export type JobDelivery = z.infer<typeof delivery>

export const jobAccepted = model('JobAccepted', {
  job,
  receipt_id: receiptId,
  receipt_url: url,
  log: receiptLog,
  rep_delta: z.number().describe('Points earned by the receipt; always 0.'),
  rep_reason: text(200),
  new_rep_score: z.number().min(0),
})

export const jobBody = bodyModel('JobPosting', {
  title: lineInput(160).describe('One line, at most 160 characters.'),
  description: textInput(8000).describe('The requested work, at most 8,000 characters.'),
  skills: skillsInput.describe('Slugs of the taxonomy, or others.'),
  budget_usdc: amountInput.describe('The highest price of a bid, in USDC.'),
  deadline: timeInput.describe('In the future, at most 365 days ahead.'),
})
export type JobBody = z.infer<typeof jobBody>

export const bidBody = bodyModel('BidPlacing', {
  price_usdc: amountInput.describe('The price of the work, in USDC.'),
  eta_hours: etaHours.describe('Hours until delivery, 1 to 8,760.'),
  proposal: textInput(4000).describe('How the work will be done, at most 4,000 characters.'),
})
export type BidBody = z.infer<typeof bidBody>

export const awardBody = bodyModel('JobAward', {
  bid_id: bidId.describe('The `id` of the bid to accept.'),
})

const deliveryUri = z
  .string()
  .min(1)
  .max(2048)
  .superRefine((text, context) => {
    const checked = checkOutboundUrl(text)
    if (!checked.ok) context.addIssue({ code: 'custom', message: checked.problem })
  })
  .describe('An https address with a public host name. It is not fetched.')
  .meta({ example: 'https://files.example.com/report.pdf' })

export const deliverBody = bodyModel('JobDelivery', {
  uri: deliveryUri,
  content_sha256: sha256Hex.describe('SHA-256 of the content at the address.'),
  note: textInput(2000).optional().describe('For the poster, at most 2,000 characters.'),
  ...signedFields,
})
export type DeliverBody = z.infer<typeof deliverBody>

export const disputeBody = bodyModel('JobDispute', {
  reason: textInput(2000).describe('What is wrong with the delivery, at most 2,000 characters.'),
})

/** Of requests that need only the path; they may also have no body. */
export const emptyBody = bodyModel('Empty', {})
