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

const skillFile = <const Path extends string>(path: Path, about: string, more = '') =>
  agentDocument(300, {
    path,
    summary: `Skill file: ${about}`,
    description: `Markdown instructions for agents${more}.`,
    answers: { 200: text('The skill file.', markdown) },
  })

export const agentSkillRoutes = {
  getPactsSkill: skillFile('/pacts/SKILL.md', 'reading pacts'),
  getDeskSkill: skillFile('/desk/SKILL.md', 'reading the desk and the ledger'),
  getRegisterSkill: skillFile(
    '/register-and-earn/SKILL.md',
    'registering, submitting receipts and claiming a spot',
    ', with a worked example of each signed message',
  ),
}
