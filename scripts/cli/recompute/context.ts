/** What a check gives to an adapter instead of a database. */
import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import { NotKept } from './evidence.ts'

export function refuse(): never {
  throw new NotKept('this check does not read it')
}

/** Streams without hours whose cursor is `cursor`. */
export function nothingStored(
  cursor: object,
): Pick<AdapterContext, 'payouts' | 'past' | 'backfill' | 'isTurnOver' | 'signal'> {
  const nothing = () => Promise.resolve()
  const stream = {
    add: () => undefined,
    save: nothing,
    hours: () => [],
    withPayouts: () => ({ buckets: [], lastPayoutAtMs: null }),
    clear: () => undefined,
  }
  return {
    payouts: {
      transaction: nothing,
      open: async (_stream, _hour, schema) =>
        await Promise.resolve({ ...stream, cursor: () => schema.parse(cursor) }),
    },
    past: [],
    backfill: { stored: null, save: nothing },
    isTurnOver: () => false,
    signal: new AbortController().signal,
  }
}
