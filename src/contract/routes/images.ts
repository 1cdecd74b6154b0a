import { toBePaid, walletParameter } from '../answers.ts'
import { apiPrefix, notFound, parameter, routesOf, text } from '../route.ts'
import { railSlug } from '../schemas/common.ts'
import { cardFormat, cardPage } from '../schemas/image.ts'

const { document, handler, live } = routesOf('Images')

const badge = text('The badge.', 'image/svg+xml')

export const imageRoutes = {
  getCard: handler('GET', 'partner', {
    path: `${apiPrefix}/og`,
    price: '0.001',
    offer:
      'Preview image of a page of the ledger, SVG or PNG of 1200 by 630 pixels, drawn from its current figures.',
    summary: 'Get a preview image of a page',
    description:
      'SVG of 1200 by 630 pixels, or PNG with `format=png`, drawn from the published documents: title, status, figures, their age and a chart. Default: the home page. An unknown page returns 400. Covered by every tier. Images of the home page, rails and articles are also published as public PNG files: `/share/home.png`, `/share/rails/{name}.png`, `/share/desk/{slug}.png`.',
    query: {
      page: parameter(
        cardPage,
        'Path of the page: `/`, `/rails/{name}`, `/opportunities`, `/honesty`, `/leaderboard`, `/pacts`, `/desk` or `/desk/{slug}`.',
        '/rails/x402',
      ),
      format: parameter(cardFormat, 'Default: `svg`.', 'svg'),
    },
    answers: {
      200: { ...text('The image.', 'image/svg+xml'), otherTypes: ['image/png'] },
      402: toBePaid,
    },
  }),
  getRailBadge: document(300, {
    path: '/badges/rails/{name}.svg',
    summary: 'Get the badge of a rail',
    description:
      'SVG of 20 pixels in height: the status with the day of its figures, such as `paying · 2026-11-27`, `was paying · 2026-06-01` for an audit that is too old, or `not judged`.',
    params: { name: parameter(railSlug, 'The `rail` of a rail snapshot.', 'x402') },
    answers: { 200: badge, 404: notFound('unknown_rail') },
  }),
  getWorkerBadge: live({
    path: '/badges/workers/{wallet}.svg',
    summary: 'Get the badge of a worker',
    description:
      'SVG of 20 pixels in height: the number of verified receipts and the day of the newest.',
    params: {
      wallet: walletParameter(),
    },
    answers: { 200: badge, 404: notFound('unknown_worker') },
  }),
}
