import { z } from 'zod'

import { amountField, microFromUsd } from './answers.ts'
import { paidTotalRail } from './paid-total.ts'

const boardShape = z.object({
  board: z.object({
    moved_usd: amountField,
    bounties: z.array(z.object({ work_status: z.string() })),
  }),
})

/** Frantic: a public board of bounties for agents. */
export const frantic = paidTotalRail({
  rail: 'frantic',
  url: 'https://gofrantic.com/v1/board',
  field: 'board.moved_usd',
  caveat:
    'Prices of bounties are offers and never volume. Activity is the growth of paid bounties.',
  shape: boardShape.transform(({ board: { moved_usd: moved, bounties } }) => ({
    paidMicroUsdc: microFromUsd(moved),
    tasks: bounties.length,
    completed: bounties.filter(({ work_status: status }) => status === 'paid').length,
  })),
})
