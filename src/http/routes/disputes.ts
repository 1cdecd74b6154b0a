import type { ActionDeps } from '../../actions/deps.ts'
import { submitDispute, viewOf, withdrawDispute } from '../../actions/disputes.ts'
import type { PublishedHash } from '../../actions/disputes.ts'
import { present } from '../../core/entries.ts'
import { isoTime } from '../../core/time.ts'
import { disputeViews, disputeRows } from '../../db/disputes.ts'
import type { Handlers } from '../handler-types.ts'
import { readPage } from '../lists.ts'

export function disputeHandlers(deps: ActionDeps, publishedHash: PublishedHash) {
  const { reader } = deps.database
  return {
    async listDisputes({ query }, { nowMs, list }) {
      const { status: state, rail, target } = query
      const filter = present({ state, rail, target })
      const { rows, fields } = await readPage(list, query, disputeRows(filter))
      const disputes = await list((db) => disputeViews(db, rows, nowMs))
      return { body: { ...fields, disputes: [...disputes], computed_at: isoTime(nowMs) } }
    },
    async getDispute({ params }, { nowMs }) {
      return { body: await viewOf(reader, params.id, nowMs) }
    },
    openDispute: ({ body }, context) => submitDispute(deps, publishedHash, { ...context, body }),
    withdrawDispute: ({ body, params }, context) =>
      withdrawDispute(deps, params.id, { ...context, body }),
  } satisfies Partial<Handlers>
}
