import { z } from 'zod'

import { count, model, time, url, usdc, wallet } from './common.ts'

export const worker = model(
  'Worker',
  z.object({
    wallet,
    display_name: z.string().max(80).optional(),
    skills: z.array(z.string().max(64)).min(1).max(32),
    url: url.optional(),
    bio: z.string().max(1000).optional(),
    receipt_key: z.string().max(64).optional(),
    registered_at: time,
    updated_at: time,
  }),
)
export type Worker = z.infer<typeof worker>

export const workerList = model(
  'WorkerList',
  z.object({
    count,
    total: count,
    workers: z.array(worker).max(200),
    next_cursor: z.string().max(200).optional(),
    computed_at: time,
  }),
)

export const leaderboardEntry = model(
  'LeaderboardEntry',
  z.object({
    rank: z.int().min(1),
    wallet,
    display_name: z.string().max(80).nullable(),
    claimed: z.boolean(),
    rep_score: z.number().min(0).max(1e15),
    receipts_count: count,
    total_usdc_lifetime: usdc,
    last_receipt_at: time.nullable(),
  }),
)
export type LeaderboardEntry = z.infer<typeof leaderboardEntry>

export const leaderboard = model(
  'Leaderboard',
  z.object({
    leaderboard: z.array(leaderboardEntry).max(1000),
    count,
    computed_at: time,
    formula: z.string().max(1000),
    note: z.string().max(500).optional(),
  }),
)
