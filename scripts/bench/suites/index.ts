import type { Suite } from '../suite.ts'
import { builder } from './builder.ts'
import { origin } from './origin.ts'
import { writes } from './writes.ts'

/** Every suite by the name it is asked for. */
export const suites = { origin, builder, writes } as const satisfies Record<string, Suite>
