import { documents, markdown } from '../answers.ts'
import { apiPrefix, json, text } from '../route.ts'
import type { Route } from '../route.ts'
import { deskFeed, deskSlug } from '../schemas/desk.ts'

/** Articles with their charts. */
export const deskRoutes = [
  {
    id: 'getDeskFeed',
    method: 'GET',
    path: `${apiPrefix}/desk/feed.json`,
    tag: 'Desk',
    access: 'public',
    summary: 'The articles of the desk',
    description: 'Articles above the median of views_24h first, then newest date first.',
    answers: { 200: json('The feed.', deskFeed) },
    serving: documents(300),
  },
  {
    id: 'getDeskArticle',
    method: 'GET',
    path: '/desk/{slug}.md',
    tag: 'Desk',
    access: 'public',
    summary: 'One article as Markdown',
    description: 'Views of this document are counted by the hour, without cookies.',
    params: {
      slug: {
        schema: deskSlug,
        description: 'The slug of an article.',
        example: 'five-statuses',
      },
    },
    answers: { 200: text('The article.', markdown), 404: { description: 'No such article.' } },
    serving: documents(300),
  },
  {
    id: 'getDeskChart',
    method: 'GET',
    path: '/desk/{name}.svg',
    tag: 'Desk',
    access: 'public',
    summary: 'One chart of an article',
    description: 'A picture that an article refers to, with its numbers in `desc`.',
    params: {
      name: {
        schema: deskSlug,
        description: 'The name of a chart; the weekly article has one under its own slug.',
        example: 'ledger-week-2026-w47',
      },
    },
    answers: {
      200: text('The chart.', 'image/svg+xml'),
      404: { description: 'No such chart.' },
    },
    serving: documents(300),
  },
] as const satisfies readonly Route[]
