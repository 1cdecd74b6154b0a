import type { Suite } from '../suite.ts'
import { builder } from './builder.ts'
import { images } from './images.ts'
import { limiter } from './limiter.ts'
import { origin } from './origin.ts'
import { overload } from './overload.ts'
import { pages } from './pages.ts'
import { payments } from './payments.ts'
import { receipts } from './receipts.ts'
import { start } from './start.ts'
import { verify } from './verify.ts'
import { visible } from './visible.ts'
import { writes } from './writes.ts'

/** Every suite by the name it is asked for. */
export const suites = {
  origin,
  builder,
  pages,
  writes,
  overload,
  verify,
  visible,
  images,
  limiter,
  start,
  payments,
  receipts,
} as const satisfies Record<string, Suite>
