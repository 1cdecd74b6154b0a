import { z } from 'zod'

import { flagTexts } from '../../core/flags/index.ts'
import { severities } from '../../core/flags/kind.ts'
import { count, evidence, model, railSlug, time } from './common.ts'

export const severity = z.enum(severities)

export const flagKind = z.enum(flagTexts.map(([kind]) => kind))

export const flag = model('HonestyFlag', {
  id: z.string().max(80),
  rail: railSlug.nullable(),
  kind: flagKind,
  severity,
  title: z.string().max(300),
  evidence: evidence.describe('The numbers that triggered the flag.'),
  opened_at: time,
  closed_at: time.optional(),
  close_reason: z.string().max(500).optional(),
})
export type Flag = z.infer<typeof flag>

export const flagList = model('HonestyFlagList', {
  count,
  flags: z.array(flag).max(5000),
  computed_at: time,
})
