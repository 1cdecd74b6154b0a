import { z } from 'zod'

import { claimProof } from './claim.ts'
import {
  count,
  looksLikeAnother,
  bodyModel,
  model,
  pageFields,
  time,
  url,
  wallet,
  text,
  list,
  query,
} from './common.ts'
import {
  httpsInput,
  nameInput,
  signatureInput,
  textInput,
  timeInput,
  walletInput,
} from './input.ts'
import { distinctSkills } from './skill.ts'

export const agentChains = ['base', 'ethereum'] as const

const workerAgent = model('WorkerAgent', {
  id: text(80).describe('Chain and id of the agent in the ERC-8004 identity registry.'),
  state: z
    .enum(['confirmed', 'other_wallet', 'no_wallet', 'not_checked'])
    .describe('Whether `getAgentWallet` of the registry is the wallet of the worker.'),
  checked_at: time.optional().describe('When the registry was last read.'),
})

export const worker = model('Worker', {
  wallet,
  display_name: text(80).optional(),
  looks_like_another: looksLikeAnother,
  skills: z.array(text(64)).min(1).max(32),
  url: url.optional(),
  bio: text(1000).optional(),
  receipt_key: text(64).optional(),
  erc8004: workerAgent.optional(),
  registered_at: time,
  updated_at: time,
})
export type Worker = z.infer<typeof worker>

export const workerList = model('WorkerList', {
  ...pageFields,
  workers: list(worker, 200),
  computed_at: time,
})

export const leaderboardEntry = model('LeaderboardEntry', {
  rank: z.int().min(1),
  wallet,
  display_name: text(80).nullable(),
  looks_like_another: looksLikeAnother,
  claimed: z.boolean().describe('Whether the key of the wallet has signed a claim.'),
  claim: claimProof.optional().describe('What proves the claim; absent without a claim.'),
  rep_score: z.number().min(0).max(1e15),
  receipts_count: count,
  total_usdc_lifetime: z.number().min(0),
  last_receipt_at: time.nullable(),
})
export type LeaderboardEntry = z.infer<typeof leaderboardEntry>

export const leaderboard = model('Leaderboard', {
  leaderboard: list(leaderboardEntry, 1000),
  query,
  count,
  next_cursor: pageFields.next_cursor,
  computed_at: time,
  formula: text(2000),
  as_of: time.optional().describe('The time to which the scores are scaled.'),
  note: text(500).optional(),
})

export const skillsInput = distinctSkills.min(1)

export const registerBody = bodyModel('WorkerRegistration', {
  wallet: walletInput,
  display_name: nameInput.optional().describe('The public name.'),
  skills: skillsInput.describe('Slugs of the taxonomy.'),
  url: httpsInput.optional().describe('A page about the worker.'),
  bio: textInput(1000).optional().describe('At most 1,000 characters.'),
  receipt_key: text(64)
    .optional()
    .describe('Base64 of the ed25519 public key for receipts of this worker.'),
  erc8004: z
    .string()
    .regex(
      /^eip155:(?:1|8453):(?:0|[1-9]\d{0,30})$/,
      'must be eip155:8453:<agent id> on Base, or eip155:1:<agent id> on Ethereum',
    )
    .optional()
    .describe('The ERC-8004 agent of the worker, such as `eip155:8453:42`.'),
  timestamp: timeInput,
  signature: signatureInput,
  oath_signature: signatureInput.optional().describe('Signature over the filled-in worker oath.'),
})
export type RegisterBody = z.infer<typeof registerBody>
