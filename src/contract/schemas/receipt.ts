import { z } from 'zod'

import { checkVerdicts, receiptKinds } from '../../core/onchain.ts'
import {
  count,
  bodyModel,
  model,
  named,
  pageFields,
  railSlug,
  time,
  url,
  usdc,
  wallet,
  list,
  text,
} from './common.ts'
import {
  amountInput,
  httpsInput,
  lineInput,
  timeInput,
  walletInput,
  signedFields,
} from './input.ts'
import { railChain } from './rail.ts'

export const receiptId = z.string().regex(/^rcp_[0-9a-f]{64}$/, 'must be rcp_ and 64 hex digits')
export const verification = z.enum(['verified', 'pending', 'unverified', 'rejected'])

const onchainCheck = model('OnchainCheck', {
  verdict: z.enum(checkVerdicts),
  reason: text(300).optional(),
  block_number: count.optional(),
  block_hash: text(66).optional(),
  block_at: time.optional(),
  log_index: count.optional(),
  since: time.describe('Start of this state.'),
})

/** What a seller signs by the x402 extension `offer-receipt`. */
const sellerArtifact = bodyModel('SellerArtifact', {
  format: z.enum(['eip712', 'jws']),
  payload: z
    .record(z.string().max(64), z.union([text(2048), z.number()]))
    .exactOptional()
    .describe('What `eip712` signs; absent for `jws`, which contains it.'),
  signature: text(4096).describe('`0x` and 130 lower-case hex digits, or a compact JWS.'),
  acceptIndex: z.int().min(0).exactOptional(),
})
export type SellerArtifact = z.infer<typeof sellerArtifact>

export const offerReceipt = bodyModel('OfferReceipt', {
  receipt: sellerArtifact,
  offer: sellerArtifact.exactOptional(),
})

/** As in the feedback file of ERC-8004. */
const paymentProof = bodyModel('PaymentProof', {
  fromAddress: walletInput,
  toAddress: walletInput.describe('The worker.'),
  chainId: z.union([z.int().min(1), z.string().regex(/^[1-9]\d{0,15}$/, 'must be a chain id')]),
  txHash: text(90),
})

const receiptContent = z
  .record(z.string(), z.union([z.string(), z.number(), offerReceipt, paymentProof]))
  .describe(
    'What the issuer signed: the receipt. If the signature covers the whole submission, also `wallet`, `timestamp` and an empty `signature`, which the id does not cover.',
  )

export const receipt = model('Receipt', {
  receipt_id: receiptId,
  rail: railSlug,
  chain: text(40).optional().describe('The chain of the payment; absent without one.'),
  tx_hash: text(128).optional(),
  from_wallet: wallet.optional(),
  to_wallet: wallet,
  amount_usdc: usdc,
  unknown_figures: list(z.literal('amount_usdc'), 1).optional(),
  asset_symbol: text(16),
  occurred_at: time,
  summary: text(500).optional(),
  job_id: text(80).optional(),
  evidence_url: url.optional(),
  kind: z.enum(receiptKinds),
  platform: text(64).optional(),
  authority: text(300).optional(),
  verification,
  verification_reason: text(300).optional(),
  onchain_verified: z.boolean(),
  onchain: onchainCheck
    .optional()
    .describe('Result of the last on-chain check; absent before the first.'),
  accepted_at: time,
  explorer_url: url.optional(),
  url,
  content: receiptContent.optional(),
})
export type Receipt = z.infer<typeof receipt>

export const receiptLog = model('ReceiptLog', {
  promise: text(1000).optional(),
  index: z.int().min(0).optional(),
  leaf_hash: text(44).optional(),
})
export type ReceiptLog = z.infer<typeof receiptLog>

export const receiptDetail = named(
  'ReceiptDetail',
  receipt.extend({
    content: receiptContent,
    rep_delta: z
      .number()
      .describe('Reputation earned so far, in points, including adjustments and reversals.'),
    onchain_checked_at: time.optional(),
    log: receiptLog,
  }),
)

export type ReceiptDetail = z.infer<typeof receiptDetail>

export const receiptList = model('ReceiptList', {
  ...pageFields,
  receipts: list(receipt, 200),
  computed_at: time,
})

/** 32 bytes in padded base64, with or without the prefix `ed25519:`. */
const ed25519Key = z
  .string()
  .regex(/^(?:ed25519:)?[A-Za-z0-9+/]{43}=$/, 'must be an ed25519 key: 32 bytes in base64')
const ed25519Signature = z
  .string()
  .regex(
    /^(?:ed25519:)?[A-Za-z0-9+/]{86}==$/,
    'must be ed25519: and the base64 of 64 bytes; send a wallet signature in the field signature',
  )

const notes = {
  summary: lineInput(500).optional(),
  job_id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,79}$/)
    .optional(),
  evidence_url: httpsInput.optional(),
}

const facts = {
  rail: railSlug,
  chain: railChain.optional().describe('The chain of the payment. Default: the chain of the rail.'),
  tx_hash: text(90).optional(),
  from_wallet: walletInput.optional(),
  to_wallet: walletInput.describe('The worker.'),
  amount_usdc: amountInput,
  asset_symbol: z.literal('USDC'),
  occurred_at: timeInput,
  ...notes,
}

export const platformReceiptBody = bodyModel('PlatformReceiptSubmission', {
  ...facts,
  platform: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  platform_signature: ed25519Signature,
  ...signedFields,
})

export const signedReceiptBody = bodyModel('SignedReceiptSubmission', {
  ...facts,
  public_key: ed25519Key,
  worker_signature: ed25519Signature,
  ...signedFields,
})

const sellerReceiptBody = bodyModel('SellerReceiptSubmission', {
  rail: railSlug,
  offer_receipt: offerReceipt,
  ...notes,
  ...signedFields,
})

const paymentProofBody = bodyModel('PaymentProofSubmission', {
  rail: railSlug,
  proof_of_payment: paymentProof,
  occurred_at: timeInput,
  ...notes,
  ...signedFields,
})

export const receiptBody = named(
  'ReceiptSubmission',
  z.union([platformReceiptBody, signedReceiptBody, sellerReceiptBody, paymentProofBody]),
)
export type ReceiptBody = z.infer<typeof platformReceiptBody | typeof signedReceiptBody>
/** States no amount. */
export type ChainReceiptBody = z.infer<typeof sellerReceiptBody | typeof paymentProofBody>

export const acceptedReceipt = model('AcceptedReceipt', {
  receipt_id: receiptId,
  accepted_at: time,
  kind: z.enum(receiptKinds),
  verification,
  verification_reason: text(300).optional(),
  onchain_verified: z.boolean(),
  rep_delta: z.number().describe('Points that the receipt has earned so far.'),
  new_rep_score: z.number().min(0),
  explorer_url: url.optional(),
  url,
  log: receiptLog,
})
export type AcceptedReceipt = z.infer<typeof acceptedReceipt>
