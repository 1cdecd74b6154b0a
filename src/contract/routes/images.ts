import { privateHandler, toBePaid } from '../answers.ts'
import { apiPrefix, text } from '../route.ts'
import type { Route } from '../route.ts'
import { cardFormat, cardPage } from '../schemas/image.ts'

export const imageRoutes = [
  {
    id: 'getCard',
    method: 'GET',
    path: `${apiPrefix}/og`,
    tag: 'Images',
    access: 'partner',
    price: '0.001',
    summary: 'Get a preview image of a page',
    description:
      'SVG of 1200 by 630 pixels, or PNG with `format=png`, drawn from the published documents: title, status, figures, their age and a chart. Default: the home page. An unknown page returns 400. Covered by every tier. Images of the home page, rails and articles are also published as public PNG files: `/share/home.png`, `/share/rails/{name}.png`, `/share/desk/{slug}.png`.',
    query: {
      page: {
        schema: cardPage,
        description:
          'Path of the page: `/`, `/rails/{name}`, `/opportunities`, `/honesty`, `/leaderboard`, `/pacts`, `/desk` or `/desk/{slug}`.',
        example: '/rails/x402',
      },
      format: {
        schema: cardFormat,
        description: 'Default: `svg`.',
        example: 'svg',
      },
    },
    answers: {
      200: { ...text('The image.', 'image/svg+xml'), otherTypes: ['image/png'] },
      402: toBePaid,
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
