import { z } from 'zod'

import { count, list, model, named, railSlug, time } from './common.ts'
import { jobIssuer } from './job.ts'

/** An entry of `data/platforms.json`: who may issue receipts, with which key, for which rails. */
export const platform = z.strictObject({
  platform: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/),
  name: z.string().min(1).max(120),
  public_key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
  rails: z.array(railSlug).min(1).max(200),
  added_at: time,
  revoked_at: time.optional(),
})
export type Platform = z.infer<typeof platform>

export const listedPlatform = named(
  'Platform',
  platform.extend({
    revoked_index: count.optional(),
  }),
)
export type ListedPlatform = z.infer<typeof listedPlatform>

export const platformList = model('PlatformList', {
  count,
  platforms: list(listedPlatform, 5000),
  receipts_by: jobIssuer.describe('The job exchange of this ledger, which also issues receipts.'),
})
