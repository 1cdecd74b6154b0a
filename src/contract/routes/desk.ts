import { markdown } from '../answers.ts'
import { apiPrefix, json, parameter, routesOf, text } from '../route.ts'
import { deskFeed, deskSlug } from '../schemas/desk.ts'

const { document } = routesOf('Desk')

export const deskRoutes = {
  getDeskFeed: document(300, {
    path: `${apiPrefix}/desk/feed.json`,
    summary: 'List articles',
    description: 'Articles above the median of `views_24h` first, then by date, newest first.',
    answers: { 200: json('The feed.', deskFeed) },
  }),
  getDeskArticle: document(300, {
    path: '/desk/{slug}.md',
    summary: 'Get an article as Markdown',
    description: 'Views are counted per hour, without cookies.',
    params: {
      slug: parameter(deskSlug, 'The slug of an article.', 'five-statuses'),
    },
    answers: { 200: text('The article.', markdown), 404: { description: 'No such article.' } },
  }),
  getDeskChart: document(300, {
    path: '/desk/{name}.svg',
    summary: 'Get a chart of an article',
    description: 'SVG image used in an article, with its numbers in `desc`.',
    params: {
      name: parameter(
        deskSlug,
        'The name of a chart. The chart of a weekly article has the slug of the article.',
        'ledger-week-2026-w47',
      ),
    },
    answers: {
      200: text('The chart.', 'image/svg+xml'),
      404: { description: 'No such chart.' },
    },
  }),
}

const { document: agentDocument } = routesOf('Agents')

export const agentSkillRoutes = {
  getPactsSkill: agentDocument(300, {
    path: '/pacts/SKILL.md',
    summary: 'Skill file: reading pacts',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
  }),
  getDeskSkill: agentDocument(300, {
    path: '/desk/SKILL.md',
    summary: 'Skill file: reading the desk and the ledger',
    description: 'Markdown instructions for agents.',
    answers: { 200: text('The skill file.', markdown) },
  }),
  getRegisterSkill: agentDocument(300, {
    path: '/register-and-earn/SKILL.md',
    summary: 'Skill file: registering, submitting receipts and claiming a spot',
    description: 'Markdown instructions for agents, with a worked example of each signed message.',
    answers: { 200: text('The skill file.', markdown) },
  }),
}
