import { repeated, toBePaid } from '../answers.ts'
import { apiPrefix, json, routesOf } from '../route.ts'
import { application, applyBody } from '../schemas/application.ts'
import { arbitrage } from '../schemas/arbitrage.ts'

const { handler } = routesOf('Rails')

export const marketRoutes = {
  applyToRail: handler('POST', 'partner', {
    path: `${apiPrefix}/opportunities/apply`,
    summary: 'Apply to a rail through the ledger',
    description:
      'Forwards the application to the apply endpoint of the rail, as a fixed body with `worker_wallet`, `message` and the `fields` that the rail accepts; headers of the caller are not forwarded. For a rail without such an endpoint the answer has `mode: "manual"` and the address at which to apply. The ledger makes one attempt with a timeout of 10 s and follows no redirects. A repeated request is never forwarded twice; it returns 409 while the first is in progress. At most 32 applications are forwarded at a time; beyond that the answer is 503 and nothing is sent. Each attempt is recorded with a hash of its text. Each partner may send at most 20 applications per hour.',
    body: applyBody,
    answers: {
      200: repeated(application),
      201: json('Recorded, with the outcome.', application),
    },
  }),
  getArbitrage: handler('GET', 'partner', {
    path: `${apiPrefix}/arbitrage`,
    price: '0.01',
    summary: 'Rank rails by expected USD per day and creator',
    description:
      'Covers the published rails of the category `earning`, with caveats for each figure. The tier Pro and higher tiers include this read.',
    answers: {
      200: {
        ...json('The ranking.', arbitrage),
        example: {
          count: 1,
          ranking: [
            {
              rail: 'x402',
              display_name: 'x402',
              status: 'paying',
              expected_usd_per_day_per_creator: 1.25,
              expected_usd_per_day_per_worker: 0.4,
              entry_cost_usdc: 0,
              breakeven_days: 0,
              confidence: 0.9,
              caveats: [],
              figures_as_of: '2026-11-21T06:00:00.000Z',
            },
          ],
          caveats: [],
          confidence_rule: 'evidence tier, lowered where figures are stale',
          computed_at: '2026-11-21T06:00:00.000Z',
        },
      },
      402: toBePaid,
    },
  }),
}
