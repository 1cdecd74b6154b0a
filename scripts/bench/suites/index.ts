import type { Suite } from '../suite.ts'
import { builder } from './builder.ts'
import { limiter } from './limiter.ts'
import { origin } from './origin.ts'
import { payments } from './payments.ts'
import { start } from './start.ts'
import { verify } from './verify.ts'
import { visible } from './visible.ts'
import { writes } from './writes.ts'

/** Every suite by the name it is asked for. */
export const suites = {
  origin,
  builder,
  writes,
  verify,
  visible,
  limiter,
  start,
  payments,
} as const satisfies Record<string, Suite>
