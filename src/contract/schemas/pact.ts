import { z } from 'zod'

import { escrowStatuses } from '../../core/pact/escrow.ts'
import { phaseStatuses } from '../../core/pact/phase.ts'
import { count, date, model, time, url, usdc, wallet, list, text } from './common.ts'
import { receiptId } from './receipt.ts'

export const pactId = z.string().regex(/^[1-9]\d{0,8}$/, 'must be the number of a pact, such as 16')
const jobId = z.string().regex(/^pact-[1-9]\d{0,8}$/)

export const phaseStatus = z.enum(phaseStatuses)

const transactionUrl = url
  .optional()
  .describe(
    'Address of the transaction in a block explorer. Absent for the invented ones of a demo.',
  )

const witnesses = list(z.enum(['receipt', 'escrow', 'manifest']), 3)

export const settledPact = model('SettledPact', {
  pact_id: pactId,
  job_id: jobId,
  state: z.enum(['settled']),
  chain: text(40),
  tx_hash: text(128),
  explorer_url: transactionUrl,
  receipt_id: receiptId,
  amount_usdc: usdc,
  payer: wallet,
  worker: wallet,
  block_number: count,
  settled_at: time,
  title: text(200).optional(),
  confirmed_by: witnesses,
})

export const inFlightPact = model('InFlightPact', {
  pact_id: pactId,
  job_id: jobId,
  state: z.enum(['in_flight']),
  title: text(200),
  spec_uri: url,
  instance_uri: url,
  reproduce_uri: url,
  phase_status: phaseStatus,
  phase_blocker: text(500).nullable(),
  next_action: text(500),
  verifier_recipe: list(text(500), 32),
  work_hash: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/)
    .nullable(),
  manifest_notes: list(text(500), 8).optional(),
  updated_at: time,
  confirmed_by: witnesses,
})

const txHash = z.string().regex(/^0x[0-9a-f]{64}$/)

export const recordedPact = model('RecordedPact', {
  pact_id: pactId,
  job_id: jobId,
  state: z.enum(['recorded']),
  title: text(200),
  verification: z
    .enum(['unverified', 'confirmed', 'contradicted'])
    .describe(
      'Whether a node confirms the publication: `unverified` until the escrow was read; `confirmed` if every claim that the escrow can answer is true. A confirmation is not evidence of a payment in USDC.',
    ),
  confirmed: list(text(40), 16),
  contradictions: list(text(300), 16),
  chain: text(40),
  contract: wallet,
  source: z.object({
    kind: z.enum(['publication', 'escrow']),
    name: text(300),
    url: url.optional(),
    noted_on: date.optional(),
  }),
  published: z
    .object({
      as: z.enum(['settled', 'in_flight']),
      amount_pact: z.number().min(0).optional(),
      completed_on: date.optional(),
      deadline: date.optional(),
      worker: wallet.optional(),
      work_hash: txHash.optional(),
      submit_work_tx: txHash.optional(),
      submit_work_block: count.optional(),
      approve_tx: txHash.optional(),
      explorer_url: transactionUrl,
      note: text(500).optional(),
    })
    .optional(),
  escrow: z
    .object({
      status: z.enum(escrowStatuses),
      creator: wallet,
      recipient: wallet,
      amount_pact: text(90).describe('Exact, in PACT.'),
      deadline: time,
      work_hash: txHash.nullable(),
      last_event: text(20),
      tx_hash: txHash,
      block_number: count,
      at: time,
      explorer_url: transactionUrl,
    })
    .optional(),
})

export const pactList = model('PactList', {
  settled: list(settledPact, 5000),
  in_flight: list(inFlightPact, 5000),
  recorded: list(recordedPact, 5000),
  summary: z.object({
    settled_count: count,
    in_flight_count: count,
    recorded_count: count,
    settled_usdc: usdc,
    last_settled_at: time.nullable(),
  }),
  doc_uri: url,
  computed_at: time,
})
export type PactList = z.infer<typeof pactList>
