import { z } from 'zod'

export const disputeId = z.string().regex(/^dsp_[0-9a-f]{24}$/, 'must be dsp_ and 24 hex digits')

export const disputeStates = ['open', 'answered', 'upheld', 'rejected', 'withdrawn'] as const
export const disputeState = z
  .enum(disputeStates)
  .describe(
    '`answered`: the operator has answered; `upheld`, `rejected`: the operator has decided; `withdrawn`: by the disputer.',
  )
export type DisputeState = z.infer<typeof disputeState>

export const disputeStandings = ['subject', 'anyone', 'unknown'] as const
export const disputeStanding = z.enum(disputeStandings)

/** In the document of a rail. */
export const disputeSummary = z.object({
  id: disputeId,
  state: disputeState,
  standing: disputeStanding,
})
