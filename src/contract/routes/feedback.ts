import { privateHandler } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { feedbackBody, feedbackTaken } from '../schemas/feedback.ts'
import { proposalBody, proposalTaken } from '../schemas/skill.ts'

/** What anyone may send without a signature. */
export const feedbackRoutes = [
  {
    id: 'proposeSkill',
    method: 'POST',
    path: `${apiPrefix}/skills`,
    tag: 'Skills',
    access: 'public',
    summary: 'Propose a skill for the taxonomy',
    description:
      'The operator decides; an accepted skill is in the taxonomy from the next build on. 10 an hour for each IPv4 address or IPv6 /64. 409 where the taxonomy has it, 422 for a surface that is no rail of the ledger.',
    body: proposalBody,
    answers: {
      202: json('Taken down, for the operator to decide.', proposalTaken),
    },
    serving: privateHandler,
  },
  {
    id: 'submitFeedback',
    method: 'POST',
    path: `${apiPrefix}/feedback`,
    tag: 'Feedback',
    access: 'public',
    summary: 'Tell the operator something',
    description:
      '5 an hour for each fingerprint, a keyed hash of network and user agent whose key changes daily; 30 an hour for each network. The limit is best effort: it knows nobody. The same text within 15 minutes is answered with the first entry.',
    body: feedbackBody,
    answers: {
      200: json('The same text came within 15 minutes.', feedbackTaken),
      201: json('Taken down.', feedbackTaken),
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
