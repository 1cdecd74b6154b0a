import { toUsdc } from '../money.ts'
import type { FlagDetector, GoodPoll } from './kind.ts'
import { flagFloorMicroUsdc, percentText, roundedShare } from './measured-share.ts'

/** Payer and payee are one wallet, or wallets that the rail's own list gives to one operator. Nothing is inferred. */
export const ownPaymentReasons: readonly string[] = [
  'self_payment',
  'same_operator',
  'self_dealing',
]
export const removedShareAbove = 0.5

export const selfDealing = {
  kind: 'self_dealing',
  needs: 'good poll',
  detect: ({ outcome, displayName }) => {
    if (outcome.kind !== 'good') return null
    const raw = outcome.figures.tpv30dRawMicroUsdc
    const own = removedSum(outcome, (reason) => ownPaymentReasons.includes(reason))
    if (raw === null || own === null || own < flagFloorMicroUsdc) return null
    if (own <= removedShareAbove * raw) return null
    return {
      severity: 'warning',
      title: `${displayName}: ${percentText(own / raw)} of the raw volume is between wallets of one operator`,
      evidence: {
        tpv_30d_raw_usdc: toUsdc(raw),
        removed_usdc: toUsdc(own),
        removed_share: roundedShare(own / raw),
        threshold: removedShareAbove,
      },
    }
  },
} as const satisfies FlagDetector

/** Micro-USDC that the filter rule leaves out for some reasons; null means unknown. */
export function removedSum(
  { removed }: Pick<GoodPoll, 'removed'>,
  isMeant: (reason: string) => boolean,
): number | null {
  let sum = 0
  for (const [reason, { microUsdc }] of Object.entries(removed)) {
    if (!isMeant(reason)) continue
    if (microUsdc === null) return null
    sum += microUsdc
  }
  return sum
}
