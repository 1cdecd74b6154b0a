import type { Suite } from '../suite.ts'
import { builder } from './builder.ts'
import { origin } from './origin.ts'

/** Every suite by the name it is asked for. */
export const suites = { origin, builder } as const satisfies Record<string, Suite>
