import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { countField, countText, largestShare, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'
import { growthSince, pollNear } from './past-polls.ts'

const host = 'https://www.toku.agency'
const pageSize = 100

const agentShape = z.object({
  id: z.string().min(1),
  jobsCompleted: countField.nullish(),
})

/** Without an API key the list is in `data` and its length in `meta`, with a key in `agents` and `total`. */
const pageShape = z
  .object({
    data: z.array(agentShape).optional(),
    agents: z.array(agentShape).optional(),
    total: countField.nullish(),
    meta: z.object({ total: countField.nullish() }).nullish(),
  })
  .refine(({ data, agents }) => data !== undefined || agents !== undefined, 'has no list of agents')
  .transform(({ data, agents = [], total, meta }) => {
    return { items: data ?? agents, total: total ?? meta?.total }
  })

/** toku.agency: agents with a counter of completed jobs, without amounts. */
export const toku = defineRail({
  rail: 'toku',
  rule: {
    name: 'growth-of-completed-jobs',
    version: '1',
    text: 'Activity is the growth of the summed jobsCompleted since our poll of 30 days before (at most 12 hours off), workers are the agents whose counter grew, the top share is by jobs; all are unknown until such a poll exists. Amounts are not public, so volume is unknown.',
  },
  hosts: [host],
  read: async (ctx) => {
    const list = await readPages(ctx, {
      url: ({ offset }) => `${host}/api/agents?limit=${pageSize}&offset=${offset}`,
      parse: (answer) => parseAnswer(pageShape, answer),
      keyOf: ({ id }) => id,
    })
    const startMs = ctx.window.start30dMs
    return {
      ...list,
      grown: growthSince(ctx.past, 'jobs_completed', completed(list.items), startMs),
      before: pollNear(ctx.past, startMs),
    }
  },
  reduce: ({ items, grown, before, moved, evidence }) => {
    const growth = items.map(({ id, jobsCompleted }) =>
      Math.max(0, (jobsCompleted ?? 0) - (before?.counters[counterOf(id)] ?? 0)),
    )
    const active = growth.filter((jobs) => jobs > 0)
    return {
      figures: {
        uniqueWorkers30d: grown === null ? null : active.length,
        topWorkerShare: grown === null ? null : largestShare(active),
        activity30d: grown,
      },
      notes: [
        `${countText(items.length)} agents are registered and have completed ${countText(completed(items))} jobs in total.`,
        'Volume, buyers and the last payout are unknown, because no job has an amount.',
        grown === null &&
          'Activity is unknown until our own poll of 30 days before can be compared.',
        moved,
      ],
      evidence,
    }
  },
  counters: ({ items }) => ({
    jobs_completed: completed(items),
    ...Object.fromEntries(
      items.flatMap(({ id, jobsCompleted }) =>
        (jobsCompleted ?? 0) > 0 ? [[counterOf(id), jobsCompleted ?? 0]] : [],
      ),
    ),
  }),
})

function completed(agents: readonly z.output<typeof agentShape>[]): number {
  return agents.reduce((sum, { jobsCompleted }) => sum + (jobsCompleted ?? 0), 0)
}

function counterOf(agent: string): string {
  return `agent.${agent}`
}
