import { privateHandler, toBePaid } from '../answers.ts'
import { apiPrefix, text } from '../route.ts'
import type { Route } from '../route.ts'
import { cardFormat, cardPage } from '../schemas/image.ts'

/** Pictures of pages with live numbers. */
export const imageRoutes = [
  {
    id: 'getCard',
    method: 'GET',
    path: `${apiPrefix}/og`,
    tag: 'Images',
    access: 'partner',
    price: '0.001',
    summary: 'A page as a picture with live numbers',
    description:
      'SVG of 1200 by 630, or with `format=png` the same as PNG, from the published documents: title, status, figures, their age and a chart. Without `page` it is the home page. A page that is not known is 400. Covered by every tier. Home, rails and articles are also published as PNG, for anyone: `/share/home.png`, `/share/rails/{name}.png`, `/share/desk/{slug}.png`.',
    query: {
      page: {
        schema: cardPage,
        description:
          'Path of the page: `/`, `/rails/{name}`, `/opportunities`, `/honesty`, `/leaderboard`, `/pacts`, `/desk` or `/desk/{slug}`.',
        example: '/rails/x402',
      },
      format: {
        schema: cardFormat,
        description: '`svg` where it is not named.',
        example: 'svg',
      },
    },
    answers: {
      200: { ...text('The picture.', 'image/svg+xml'), otherTypes: ['image/png'] },
      402: toBePaid,
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
