import { z } from 'zod'

import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import { countField, countText, evidenceOf, noVolume, parseAnswer } from './answers.ts'

const host = 'https://agentverse.ai'
const sample = 30

/** Largest number of hits that the search reports. */
const searchCap = 10_000

const answerShape = z.object({
  agents: z.array(
    z.object({ address: z.string().min(1), total_interactions: countField.nullish() }),
  ),
  total: countField,
})

/** Agentverse (Fetch.ai), a directory: payments in FET between agents cannot be tied to a listing. */
export const agentverse = defineRail({
  rail: 'agentverse',
  rule: {
    name: 'active-agents',
    version: '1',
    text: 'Activity and workers are the agents that the search finds in state active. The search stops at 10,000 hits, so a count of 10,000 is a lower bound. There are no payments.',
  },
  hosts: [host],
  read: async (ctx) => {
    const answer = await ctx.http.json(`${host}/v1/search/agents`, {
      json: {
        filters: { state: ['active'] },
        sort: 'interactions',
        direction: 'desc',
        search_text: '',
        offset: 0,
        limit: sample,
      },
    })
    const { agents, total } = parseAnswer(answerShape, answer)
    if (agents.length < Math.min(total, sample)) {
      throw new SourceError(`received ${agents.length} of ${Math.min(total, sample)} agents`)
    }
    return {
      active: total,
      topInteractions: agents[0]?.total_interactions ?? null,
      pointer: evidenceOf(answer, agents.length),
    }
  },
  reduce: ({ active, topInteractions, pointer }) => ({
    figures: {
      ...noVolume,
      uniqueWorkers30d: active,
      topWorkerShare: active === 0 ? 0 : null,
      activity30d: active,
    },
    notes: [
      active >= searchCap
        ? `At least ${countText(searchCap)} agents are active. This is a lower bound, since the search counts no further.`
        : `${countText(active)} agents are active.`,
      'The volume is 0 by definition: nobody is paid through the directory.',
      topInteractions !== null &&
        `The most used agent shows ${countText(topInteractions)} interactions, by the directory's own counter.`,
    ],
    evidence: [pointer],
  }),
})
