import { apiPrefix, json, routesOf } from '../route.ts'
import { skill, skillSlug, taxonomy } from '../schemas/skill.ts'

const { document } = routesOf('Skills')

export const skillRoutes = {
  listSkills: document(300, {
    path: `${apiPrefix}/skills`,
    summary: 'Get the skill taxonomy',
    description: 'Twelve categories; `surface` lists the rails that offer a skill.',
    answers: { 200: json('The taxonomy.', taxonomy) },
  }),
  getSkill: document(300, {
    path: `${apiPrefix}/skills/{slug}`,
    summary: 'Get a skill',
    description: 'The skill itself, without an envelope.',
    params: {
      slug: {
        schema: skillSlug,
        description: 'The slug of a skill.',
        example: 'api-reference-writing',
      },
    },
    answers: { 200: json('The skill.', skill), 404: { description: 'No such skill.' } },
  }),
}
