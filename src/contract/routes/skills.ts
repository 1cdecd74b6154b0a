import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import { feedbackBody, feedbackTaken } from '../schemas/feedback.ts'
import { proposalBody, proposalTaken, skill, skillSlug, taxonomy } from '../schemas/skill.ts'

const { document, handler: skillHandler } = routesOf('Skills')

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
      slug: parameter(skillSlug, 'The slug of a skill.', 'api-reference-writing'),
    },
    answers: { 200: json('The skill.', skill), 404: notFound('unknown_skill') },
  }),
}

const { handler: feedbackHandler } = routesOf('Feedback')

export const feedbackRoutes = {
  proposeSkill: skillHandler('POST', 'public', {
    path: `${apiPrefix}/skills`,
    summary: 'Propose a skill for the taxonomy',
    description:
      'The operator reviews proposals; an accepted skill appears in the taxonomy after the next build. At most 10 proposals are accepted per hour from each IPv4 address or IPv6 /64. Returns 409 if the skill already exists, 422 if a `surface` is not a rail of the ledger.',
    body: proposalBody,
    answers: {
      202: json('The proposal was received and awaits review by the operator.', proposalTaken),
    },
  }),
  submitFeedback: feedbackHandler('POST', 'public', {
    path: `${apiPrefix}/feedback`,
    summary: 'Send feedback to the operator',
    description:
      'At most 5 entries are accepted per hour from each fingerprint (a keyed hash of network and user agent, with a new key every day) and 30 from each network. The limits are best effort, since senders are anonymous. The same text within 15 minutes returns the first entry.',
    body: feedbackBody,
    answers: {
      200: json('The same text was received within the last 15 minutes.', feedbackTaken),
      201: json('Received.', feedbackTaken),
    },
  }),
}
