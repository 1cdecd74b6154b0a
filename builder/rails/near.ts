import { z } from 'zod'

import { groupBy } from '../../src/core/group-by.ts'
import { defineRail } from './adapter.ts'
import { amountField, countText, parseAnswer, timeField } from './answers.ts'
import { readPages } from './paged-list.ts'
import { isWithin } from './window.ts'
const host = 'https://market-legacy.near.ai'
const pageSize = 100

/** Maximum budget that is accepted as real. */
const ceiling = 1_000_000

const jobShape = z.object({
  job_id: z.string().min(1),
  creator_agent_id: z.string().min(1),
  budget_amount: amountField.nullish(),
  budget_token: z.string().nullish(),
  status: z.string(),
  completed_at: timeField.nullish(),
  updated_at: timeField,
})
type Job = z.output<typeof jobShape>

/** NEAR AI Agent Market, read from the job list of its older API. Budgets are offers; transfers are not shown. */
export const near = defineRail({
  rail: 'near',
  rule: {
    name: 'completed-jobs',
    version: '2',
    text: 'Creators are the agents whose jobs were completed in the window (by completed_at, else updated_at). A completed job is no payout. Budgets are offers and never volume; the notes list them by token. Budgets above 1,000,000 are excluded and counted. The list is of the older market, which is being archived; the new one requires a login. A window without completed jobs is therefore unknown, not zero.',
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ offset }) => `${host}/v1/jobs?status=completed&limit=${pageSize}&offset=${offset}`,
      parse: (answer) => ({ items: parseAnswer(z.array(jobShape), answer) }),
      keyOf: ({ job_id }) => job_id,
    }),
  reduce: ({ items, evidence }, window) => {
    const completed = items.filter(({ status }) => status === 'completed')
    const recent = completed.filter(({ completed_at, updated_at }) =>
      isWithin(completed_at ?? updated_at, window.start30dMs, window),
    )
    return {
      figures: {
        uniqueCreators30d:
          recent.length === 0
            ? null
            : new Set(recent.map(({ creator_agent_id }) => creator_agent_id)).size,
      },
      removed30d: {
        not_completed: items.length - completed.length,
        absurd_budget: recent.filter(isAbsurd).length,
      },
      notes: [
        `${countText(completed.length)} jobs were completed since the list began, ${countText(recent.length)} of them in the window.`,
        ...budgetNotes(recent.filter((job) => !isAbsurd(job))),
        'Volume, workers and the last payout are unknown: the answers show no transfers.',
      ],
      evidence,
    }
  },
})

function isAbsurd({ budget_amount }: Job): boolean {
  return Number(budget_amount ?? 0) > ceiling
}

function budgetNotes(jobs: readonly Job[]): string[] {
  return [...groupBy(jobs, ({ budget_token }) => budget_token ?? 'unnamed token')].map(
    ([token, priced]) => {
      const sum = priced.reduce((total, { budget_amount }) => total + Number(budget_amount ?? 0), 0)
      return `Budgets of these jobs: ${sum.toLocaleString('en-US')} ${token.slice(0, 20)} over ${countText(priced.length)} jobs.`
    },
  )
}
