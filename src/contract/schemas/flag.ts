import { z } from 'zod'

import { flagTexts } from '../../core/flags/index.ts'
import { severities } from '../../core/flags/kind.ts'
import { count, evidence, model, railSlug, time, list, text } from './common.ts'

export const severity = z.enum(severities)

export const flagKind = z.enum(flagTexts.map(([kind]) => kind))

export const flag = model('HonestyFlag', {
  id: text(80),
  rail: railSlug.nullable(),
  kind: flagKind,
  severity,
  title: text(300),
  evidence: evidence.describe('The numbers that triggered the flag.'),
  opened_at: time,
  closed_at: time.optional(),
  close_reason: text(500).optional(),
})
export type Flag = z.infer<typeof flag>

export const flagList = model('HonestyFlagList', {
  count,
  flags: list(flag, 5000),
  computed_at: time,
})
