/** Reads by id, with the wanted answer in each state. */
import { iso, statusAt } from './model/reading.ts'
import type { State } from './model/state.ts'
import type { Chance } from './random.ts'

export interface ReadById {
  readonly path: string
  /** Members that the answer must have; null where the thing must not be found. */
  readonly wanted: (seen: State, nowMs: number) => object | null
}

/** Null if nothing of the drawn kind exists. */
export function drawRead(chance: Chance, state: State): ReadById | null {
  const what = chance.pick(['receipts', 'jobs', 'partners'] as const)
  const ids = [...state[what].keys()]
  const id = ids[chance.below(ids.length)]
  if (id === undefined) return null
  const wanted = {
    receipts: (seen: State) => {
      const found = seen.receipts.get(id)
      return found === undefined
        ? null
        : { receipt_id: id, amount_usdc: found.amountMicro / 1e6, accepted_at: iso(found.atMs) }
    },
    jobs: (seen: State, nowMs: number) => {
      const found = seen.jobs.get(id)
      return found === undefined
        ? null
        : { id, status: statusAt(found, nowMs), bids_count: found.bids.size }
    },
    partners: (seen: State) => {
      const found = seen.partners.get(id)
      return found === undefined
        ? null
        : {
            handle: id,
            display_name: found.name,
            tier: found.tier,
            attestation_endpoint_url: found.url,
          }
    },
  }[what]
  return { path: `/api/v1/${what}/${id}`, wanted }
}
