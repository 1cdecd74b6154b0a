import { documents } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { skill, skillSlug, taxonomy } from '../schemas/skill.ts'

export const skillRoutes = [
  {
    id: 'listSkills',
    method: 'GET',
    path: `${apiPrefix}/skills`,
    tag: 'Skills',
    access: 'public',
    summary: 'Get the skill taxonomy',
    description: 'Twelve categories; `surface` lists the rails that offer a skill.',
    answers: { 200: json('The taxonomy.', taxonomy) },
    serving: documents(300),
  },
  {
    id: 'getSkill',
    method: 'GET',
    path: `${apiPrefix}/skills/{slug}`,
    tag: 'Skills',
    access: 'public',
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
    serving: documents(300),
  },
] as const satisfies readonly Route[]
