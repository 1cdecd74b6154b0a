import { sinceParameter } from '../answers.ts'
import { apiPrefix, json, routesOf } from '../route.ts'
import { stats, statsLive } from '../schemas/stats.ts'

const { document } = routesOf('Stats')

export const statsRoutes = {
  getStatsLive: document(5, {
    path: `${apiPrefix}/stats/live`,
    summary: 'Get the totals of the ledger',
    description:
      'With `since` the answer includes `delta_since`: entries created after that time, at most 200 of each kind.',
    query: {
      since: sinceParameter('RFC 3339 time after which changes are listed.'),
    },
    answers: { 200: json('The totals.', statsLive) },
  }),
  getStatsDaily: document(300, {
    path: `${apiPrefix}/stats/daily`,
    summary: 'Get the daily totals',
    description: 'Currently the same figures as `/stats/live`.',
    answers: { 200: json('The totals.', stats) },
  }),
}
