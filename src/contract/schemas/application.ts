import { z } from 'zod'

import { checkOutboundUrl } from '../../core/outbound-url.ts'
import { bodyModel, model, railSlug, time, url, text } from './common.ts'
import { textInput, walletInput } from './input.ts'

export const applyBody = bodyModel('ApplyBody', {
  rail: railSlug.describe('The rail to apply to.'),
  worker_wallet: walletInput.describe('The wallet of the worker, which is paid.'),
  message: textInput(4000).describe('The message to the rail.'),
  fields: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/), textInput(1000))
    .refine((fields) => Object.keys(fields).length <= 16, 'at most 16 fields')
    .optional()
    .describe('Further fields, if the rail accepts any; at most 16 of up to 1,000 characters.'),
})
export type ApplyBody = z.infer<typeof applyBody>

export const application = model('Application', {
  application_id: text(80),
  rail: railSlug,
  mode: z.enum(['forwarded', 'manual']),
  outcome: z
    .enum(['accepted', 'refused', 'failed', 'unknown', 'manual'])
    .describe(
      '`accepted`: the rail answered 2xx; `refused`: another status; `failed`: no answer in time; `unknown`: interrupted while sending and not sent again.',
    ),
  upstream_status: z.int().min(100).max(599).optional(),
  upstream_error: text(300).optional(),
  manual_reason: text(2000)
    .optional()
    .describe('Why the application was not forwarded, and what joining the rail requires.'),
  sample_apply_url: url.optional(),
  submitted_at: time,
})
export type Application = z.infer<typeof application>

/** Strings of `body` that are `{worker_wallet}`, `{message}`, `{application_id}` or `{fields.<name>}` are filled in. */
export const applyBlock = z.strictObject({
  endpoint: z
    .string()
    .refine((text) => checkOutboundUrl(text).ok, 'must be a public https address'),
  body: z.record(z.string().min(1).max(100), z.union([z.string(), z.number(), z.boolean()])),
  /** Optional fields by name, each with its maximum length in characters. */
  fields: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,39}$/), z.int().min(1).max(1000))
    .default({}),
})
export type ApplyBlock = z.infer<typeof applyBlock>
