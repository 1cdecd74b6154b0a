import { z } from 'zod'

import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import type { EvidencePointer, AdapterContext } from './adapter.ts'
import {
  countField,
  countText,
  evidenceOf,
  largestShare,
  noVolume,
  parseAnswer,
  readRows,
  tally,
  timeField,
} from './answers.ts'
import { readPages } from './paged-list.ts'
import { isWithin } from './window.ts'
const host = 'https://8004-indexer-main.qnt.sh'
const pageSize = 1000

const statsShape = z.tuple([
  z.object({
    total_agents: countField,
    total_feedbacks: countField,
    total_collections: countField,
  }),
])

const boardShape = z.array(z.object({ asset: z.string().min(1), feedback_count: countField }))

const feedbackShape = z.object({
  id: z.union([z.string(), z.number()]),
  asset: z.string().min(1),
  client_address: z.string().min(1),
  is_revoked: z.boolean(),
  created_at: timeField,
})
type Feedback = z.output<typeof feedbackShape>

/** Solana Agent Registry (8004-solana), by the public indexer of its makers. */
export const solanaRegistry = defineRail({
  rail: 'solana_registry',
  rule: {
    name: 'standing-feedback',
    version: '1',
    text: 'Counted is feedback of the window that was not revoked: creators are distinct clients that gave it, workers distinct agents that received it, the top share is by number of feedbacks. There are no payments.',
  },
  hosts: [host],
  read: async (ctx) => {
    const statsAnswer = await ctx.http.json(`${host}/rest/v1/global_stats`)
    const [stats] = parseAnswer(statsShape, statsAnswer)
    const board = await readRows(ctx, `${host}/rest/v1/leaderboard`, boardShape)
    const { feedbacks, pointers } = await readFeedbacks(ctx, stats.total_feedbacks)
    return {
      stats,
      ranked: board.rows.length,
      feedbacks,
      pointers: [evidenceOf(statsAnswer, 1), board.pointer, ...pointers],
    }
  },
  reduce: ({ stats, ranked, feedbacks, pointers }, window) => {
    const inWindow = feedbacks.filter(({ created_at }) =>
      isWithin(created_at, window.start30dMs, window),
    )
    const standing = inWindow.filter(({ is_revoked }) => !is_revoked)
    const agents = tally(standing.map(({ asset }) => asset))
    return {
      figures: {
        ...noVolume,
        uniqueCreators30d: new Set(standing.map(({ client_address }) => client_address)).size,
        uniqueWorkers30d: agents.size,
        topWorkerShare: largestShare(agents.values()),
        activity30d: standing.length,
      },
      removed30d: { revoked: inWindow.length - standing.length },
      notes: [
        `In total: ${countText(stats.total_agents)} agents in ${countText(stats.total_collections)} collections, ${countText(stats.total_feedbacks)} feedbacks; the leaderboard ranks ${countText(ranked)} agents.`,
        'The volume is 0 by definition: a registry pays nobody. The figures are those of the indexer, not checked against the chain.',
      ],
      evidence: pointers,
    }
  },
})

/** Reads from the newest entry to the start of the window. A list that ends earlier must have the stated length. */
async function readFeedbacks(
  ctx: AdapterContext,
  stated: number,
): Promise<{ feedbacks: readonly Feedback[]; pointers: readonly EvidencePointer[] }> {
  let [oldestMs, passedStart] = [Number.POSITIVE_INFINITY, false]
  const list = await readPages(ctx, {
    url: ({ offset }) =>
      `${host}/rest/v1/feedbacks?order=created_at.desc&limit=${pageSize}&offset=${offset}`,
    parse: (answer) => {
      const items = parseAnswer(z.array(feedbackShape), answer)
      for (const { created_at } of items) {
        if (created_at > oldestMs) {
          throw new SourceError('the feedbacks do not come newest first')
        }
        oldestMs = created_at
      }
      passedStart = oldestMs < ctx.window.start30dMs
      return { items, last: passedStart || items.length === 0 }
    },
    keyOf: ({ asset, client_address, id }) => `${asset} ${client_address} ${id}`,
  })
  if (!passedStart && list.items.length < stated) {
    throw new SourceError(`received ${list.items.length} of ${stated} feedbacks`)
  }
  return { feedbacks: list.items, pointers: list.evidence }
}
