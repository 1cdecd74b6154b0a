import { clockSkew } from './clock_skew.ts'
import { concentrated } from './concentrated.ts'
import { figuresJump } from './figures_jump.ts'
import type { FlagDetector } from './kind.ts'
import { negativeOrImpossibleFigures } from './negative_or_impossible_figures.ts'
import { pollFailed } from './poll_failed.ts'
import { selfDealing } from './self_dealing.ts'
import { staleFigures } from './stale_figures.ts'

export const flagDetectors = [
  pollFailed,
  staleFigures,
  concentrated,
  selfDealing,
  figuresJump,
  clockSkew,
  negativeOrImpossibleFigures,
] as const satisfies readonly FlagDetector[]

export type RailFlagKind = (typeof flagDetectors)[number]['kind']
