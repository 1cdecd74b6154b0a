import { toBePaid } from '../answers.ts'
import { apiPrefix, parameter, routesOf, text } from '../route.ts'
import { cardFormat, cardPage } from '../schemas/image.ts'

const { handler } = routesOf('Images')

export const imageRoutes = {
  getCard: handler('GET', 'partner', {
    path: `${apiPrefix}/og`,
    price: '0.001',
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
}
