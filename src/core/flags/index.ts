import { batchPayouts } from './batch_payouts.ts'
import { burst } from './burst.ts'
import { circularFlow } from './circular_flow.ts'
import { clockSkew } from './clock_skew.ts'
import { commonFunder } from './common_funder.ts'
import { concentrated } from './concentrated.ts'
import { dominantPayer } from './dominant_payer.ts'
import { figuresJump } from './figures_jump.ts'
import type { FlagDetector } from './kind.ts'
import { linkedWorkers } from './linked_workers.ts'
import { mostlyFiltered } from './mostly_filtered.ts'
import { negativeOrImpossibleFigures } from './negative_or_impossible_figures.ts'
import { pollFailed } from './poll_failed.ts'
import { selfDealing } from './self_dealing.ts'
import { singlePayment } from './single_payment.ts'
import { staleFigures } from './stale_figures.ts'
import { uniformPayers } from './uniform_payers.ts'

/** Flags about payments: who paid whom, how much and when. */
export const paymentFlags = [
  concentrated,
  selfDealing,
  mostlyFiltered,
  circularFlow,
  commonFunder,
  linkedWorkers,
  dominantPayer,
  singlePayment,
  batchPayouts,
  burst,
  uniformPayers,
] as const satisfies readonly FlagDetector[]

export const flagDetectors = [
  pollFailed,
  staleFigures,
  ...paymentFlags,
  figuresJump,
  clockSkew,
  negativeOrImpossibleFigures,
] as const satisfies readonly FlagDetector[]

export type RailFlagKind = (typeof flagDetectors)[number]['kind']
