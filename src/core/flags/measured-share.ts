import { microPerUsdc, toUsdc } from '../money.ts'
import type { PaymentMeasures } from '../rules/measures.ts'
import type { FlagDetector, FlagFinding, Severity } from './kind.ts'

/** No flag about less money, in micro-USDC. */
export const flagFloorMicroUsdc = 10 * microPerUsdc

interface MeasuredShare {
  readonly microUsdc: number
  readonly ofMicroUsdc: number
  readonly text: (percent: string) => string
  readonly evidence?: FlagFinding['evidence']
}

/** A flag about a share of a rail's volume; never raised where nobody knows who paid whom. */
export function shareFlag<const Kind extends string>(
  kind: Kind,
  severity: Severity,
  threshold: number,
  measure: (measures: PaymentMeasures) => MeasuredShare | null,
) {
  return {
    kind,
    needs: 'good poll',
    detect: ({ outcome, displayName }) => {
      if (outcome.kind !== 'good' || outcome.measures === null) return null
      const found = measure(outcome.measures)
      if (found === null || found.microUsdc < flagFloorMicroUsdc) return null
      const share = found.microUsdc / found.ofMicroUsdc
      if (share <= threshold) return null
      return {
        severity,
        title: `${displayName}: ${found.text(percentText(share))}`,
        evidence: {
          share: roundedShare(share),
          threshold,
          amount_usdc: toUsdc(found.microUsdc),
          of_usdc: toUsdc(found.ofMicroUsdc),
          ...found.evidence,
        },
      }
    },
  } as const satisfies FlagDetector
}

export function percentText(share: number): string {
  return `${Math.floor(share * 100)} %`
}

export function roundedShare(share: number): number {
  return Math.round(share * 1e6) / 1e6
}
