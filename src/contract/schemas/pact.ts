import { z } from 'zod'

import { count, model, time, url, usdc, wallet } from './common.ts'
import { receiptId } from './receipt.ts'

export const pactId = z.string().regex(/^[1-9]\d{0,8}$/)
const jobId = z.string().regex(/^pact-[1-9]\d{0,8}$/)

export const phaseStatus = z.enum([
  'drafted',
  'funded',
  'in_progress',
  'submitted',
  'verifying',
  'blocked',
])

export const settledPact = model(
  'SettledPact',
  z.object({
    pact_id: pactId,
    job_id: jobId,
    state: z.enum(['settled']),
    chain: z.string().max(40),
    tx_hash: z.string().max(128),
    explorer_url: url,
    receipt_id: receiptId,
    amount_usdc: usdc,
    payer: wallet,
    worker: wallet,
    block_number: count,
    settled_at: time,
    title: z.string().max(200).optional(),
  }),
)

export const inFlightPact = model(
  'InFlightPact',
  z.object({
    pact_id: pactId,
    job_id: jobId,
    state: z.enum(['in_flight']),
    title: z.string().max(200),
    spec_uri: url,
    instance_uri: url,
    reproduce_uri: url,
    phase_status: phaseStatus,
    phase_blocker: z.string().max(500).nullable(),
    next_action: z.string().max(500),
    verifier_recipe: z.array(z.string().max(500)).max(32),
    work_hash: z
      .string()
      .regex(/^0x[0-9a-f]{64}$/)
      .nullable(),
    updated_at: time,
  }),
)

export const pactList = model(
  'PactList',
  z.object({
    settled: z.array(settledPact).max(5000),
    in_flight: z.array(inFlightPact).max(5000),
    summary: z.object({
      settled_count: count,
      in_flight_count: count,
      settled_usdc: usdc,
      last_settled_at: time.nullable(),
    }),
    doc_uri: url,
    computed_at: time,
  }),
)
