import type { Migration } from './migration.ts'

/** Payments by state are counted while others read, however many there are. */
export const paymentStates = {
  name: '0017_payment_states',
  up: [`create index payments_by_state on payments (state)`],
} as const satisfies Migration
