/** `GET /api/v1/stats/live?since=`: the one read of the aggregate that is no document. */
import { ApiError } from '../contract/errors.ts'
import { parseTime } from '../core/time.ts'
import { answerJson, queryOf } from './answer.ts'
import type { ApiContext } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'

/** As the document without `since` is. */
const CACHE = 'public, max-age=5'

/** `statsSince` takes Unix milliseconds and answers the aggregate with its `delta_since`. */
export function statsSinceHandler(
  store: Pick<DocumentStore, 'state'>,
  statsSince: (sinceMs: number) => Promise<unknown>,
) {
  return async (c: ApiContext): Promise<Response> => {
    const { since } = queryOf(c, ['since'])
    // Without `since` this path is a document; only while no set is served does it come here.
    if (since === undefined) throw new ApiError('unavailable', nothingServed(store))
    const sinceMs = parseTime(since)
    if (sinceMs === null) {
      throw new ApiError('invalid_input', undefined, {
        issues: [{ path: 'since', message: 'must be an RFC 3339 time' }],
      })
    }
    return answerJson(c, await statsSince(sinceMs), { cache: CACHE })
  }
}
