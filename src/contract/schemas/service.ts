import { z } from 'zod'

import { count, model, sha256Hex, time, list, text } from './common.ts'

export const errorFields = {
  error: text(200),
  code: text(64).describe('Stable and machine-readable.'),
  details: text(2000).optional(),
  docs: z.url().max(2048),
  issues: list(z.object({ path: text(300), message: text(500) }), 100).optional(),
}

export const errorModel = model('Error', errorFields)

export const jobRun = z.object({
  started_at: time.nullable(),
  finished_at: time.nullable(),
  outcome: z.enum(['ok', 'failed', 'skipped', 'running', 'never']),
  detail: text(500).optional(),
})

export const apiIndex = model('ApiIndex', {
  service: text(64),
  version: text(40),
  docs: z.url(),
  openapi: z.url(),
  requests: list(
    z.object({
      id: text(64).describe('The `operationId`.'),
      method: text(10),
      path: text(300),
      summary: text(300),
      access: z.enum(['public', 'signed', 'partner']),
      price_usdc: text(20).optional().describe('For callers without a tier that includes it.'),
    }),
    1000,
  ),
})

export const health = model('Health', {
  status: z.enum(['ok', 'degraded']),
  version: text(40),
  uptime_s: z.number().min(0),
  database: z.enum(['ok', 'failed']),
  database_engine: z.enum(['sqlite', 'postgres']),
  clock_skew_ms: z.int().nullable(),
  snapshot_age_s: z.number().min(0).nullable(),
  snapshot_version: z.int().min(1).nullable(),
  snapshot_sha256: sha256Hex.nullable(),
  settlement: z
    .enum(['off', 'local', 'facilitator'])
    .describe(
      'How payments are settled: not at all, by a wallet of the service, or by a facilitator.',
    ),
  problems: list(text(300), 50),
  jobs: z.record(z.string(), jobRun).describe('The last run of each scheduled job.'),
})

export const signingKey = z.object({
  kid: text(64),
  alg: z.enum(['ed25519']),
  public_key: text(64).describe('Base64 of the 32-byte key.'),
  status: z.enum(['active', 'retired']),
  created_at: time,
  retired_at: time.optional(),
  signed_by: text(64).optional(),
  signature: text(88)
    .optional()
    .describe(
      'Base64 of its signature over `service-key-v1`, a line feed, `public_key`, a line feed.',
    ),
})

export const signingKeys = model('SigningKeys', { keys: list(signingKey, 100) })
export type SigningKeys = z.infer<typeof signingKeys>

const encodedBody = z.object({ sha256: sha256Hex, size: count })

export const manifestEntry = z.object({
  path: text(300),
  file: text(400),
  sha256: sha256Hex,
  size: count,
  content_type: text(100),
  max_age: count,
  signature: text(100),
  kid: text(64),
  changed_at: time,
  encodings: z.object({ br: encodedBody.optional(), gzip: encodedBody.optional() }),
})

export const snapshotManifest = model('SnapshotManifest', {
  site_url: text(256),
  version: z.int().min(1).describe('Increases with each manifest, usually by one.'),
  previous: sha256Hex.nullable(),
  computed_at: time,
  expires: time,
  count,
  documents: list(manifestEntry, 1_000_000),
  set_sha256: sha256Hex,
})
