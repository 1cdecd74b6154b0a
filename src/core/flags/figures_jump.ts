import type { CountedFigure } from '../figures.ts'
import type { FlagDetector } from './kind.ts'

const jumpFactor = 10
/** Volumes below this (micro-USDC) and counts below `smallCount` can change tenfold by chance. */
const smallVolumeMicroUsdc = 100_000_000
const smallCount = 10

const watched: readonly { readonly figure: CountedFigure; readonly floor: number }[] = [
  { figure: 'tpv30dMicroUsdc', floor: smallVolumeMicroUsdc },
  { figure: 'uniqueCreators30d', floor: smallCount },
  { figure: 'uniqueWorkers30d', floor: smallCount },
]

export const figuresJump = {
  kind: 'figures_jump',
  needs: 'good poll',
  detect: ({ outcome, before, displayName }) => {
    if (outcome.kind !== 'good' || before === null) return null
    for (const { figure, floor } of watched) {
      const [was, is] = [before[figure], outcome.figures[figure]]
      if (was === null || is === null || Math.max(was, is) < floor) continue
      if (is < was * jumpFactor && was < is * jumpFactor) continue
      return {
        severity: 'warning',
        title: `${displayName}: a 30-day figure changed tenfold between two polls`,
        evidence: { figure, before: was, after: is, factor: jumpFactor },
      }
    }
    return null
  },
} as const satisfies FlagDetector
