import { privateHandler, toBePaid } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { application, applyBody } from '../schemas/application.ts'
import { arbitrage } from '../schemas/arbitrage.ts'

/** Where to work next, and how to get in. */
export const marketRoutes = [
  {
    id: 'applyToRail',
    method: 'POST',
    path: `${apiPrefix}/opportunities/apply`,
    tag: 'Rails',
    access: 'partner',
    summary: 'Apply to a rail through the ledger',
    description:
      'Forwarded to the apply endpoint that the ledger has written down for the rail, as a fixed body with `worker_wallet`, `message` and the `fields` that the rail takes; no header of the caller goes along. A rail without one is answered with `mode: "manual"` and where to apply. One try, 10 s, no redirects; a repeat of the request is never sent twice, and is 409 while the first is under way. At most 32 are forwarded at once; beyond that it is 503, and nothing was done. Every try is recorded, its text only as a hash. At most 20 an hour for a partner.',
    body: applyBody,
    answers: {
      200: json('An exact repeat; the first answer.', application),
      201: json('Recorded, with what came of it.', application),
    },
    serving: privateHandler,
  },
  {
    id: 'getArbitrage',
    method: 'GET',
    path: `${apiPrefix}/arbitrage`,
    tag: 'Rails',
    access: 'partner',
    price: '0.01',
    summary: 'Rails by expected USD a day per creator',
    description:
      'From the published rails of the category `earning`, with what stands against each figure. Covered from the tier Pro on.',
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
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
