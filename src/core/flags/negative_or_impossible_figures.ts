import type { FlagDetector } from './kind.ts'

export const negativeOrImpossibleFigures = {
  kind: 'negative_or_impossible_figures',
  needs: 'any poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind === 'good' || outcome.impossible.length === 0) return null
    return {
      severity: 'critical',
      title: `${displayName}: the source reported impossible figures`,
      evidence: {
        refused: outcome.impossible.join('; ').slice(0, 300),
        figures: outcome.impossible.length,
      },
    }
  },
} as const satisfies FlagDetector
