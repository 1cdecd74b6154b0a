import { documents } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { timeInput } from '../schemas/input.ts'
import { stats, statsLive } from '../schemas/stats.ts'

export const statsRoutes = [
  {
    id: 'getStatsLive',
    method: 'GET',
    path: `${apiPrefix}/stats/live`,
    tag: 'Stats',
    access: 'public',
    summary: 'Get the totals of the ledger',
    description:
      'With `since` the answer includes `delta_since`: entries created after that time, at most 200 of each kind.',
    query: {
      since: {
        schema: timeInput,
        description: 'RFC 3339 time after which changes are listed.',
        example: '2026-11-20T00:00:00Z',
      },
    },
    answers: { 200: json('The totals.', statsLive) },
    serving: documents(5),
  },
  {
    id: 'getStatsDaily',
    method: 'GET',
    path: `${apiPrefix}/stats/daily`,
    tag: 'Stats',
    access: 'public',
    summary: 'Get the daily totals',
    description: 'Currently the same figures as `/stats/live`.',
    answers: { 200: json('The totals.', stats) },
    serving: documents(300),
  },
] as const satisfies readonly Route[]
