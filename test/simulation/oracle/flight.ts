import type { PaidRead } from '../requests/reads.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import type { Fields, Snapshot } from './snapshot.ts'

/** A request under way: a write, a read by id or a sold read. */
export interface Flight {
  readonly name: string
  readonly request: SimulatedRequest | null
  /** Members that the answer of a read must have in a state; null for a 404. */
  readonly wanted: ((db: Snapshot, nowMs: number) => Fields | null) | null
  readonly paid: PaidRead | null
  readonly nowMs: number
  readonly fromVersion: number
  /** Count of troubles when the machine was last undisturbed. */
  readonly troubles: number
  /** Time of the chain's head, and count of faulty answers, when it began. */
  readonly headMs: number
  readonly answerFaults: number
}

export type PaidFlight = Flight & { readonly paid: PaidRead }

export function isPaid(flight: Flight): flight is PaidFlight {
  return flight.paid !== null
}
