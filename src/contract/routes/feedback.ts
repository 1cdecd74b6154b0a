import { privateHandler } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Route } from '../route.ts'
import { feedbackBody, feedbackTaken } from '../schemas/feedback.ts'
import { proposalBody, proposalTaken } from '../schemas/skill.ts'

export const feedbackRoutes = [
  {
    id: 'proposeSkill',
    method: 'POST',
    path: `${apiPrefix}/skills`,
    tag: 'Skills',
    access: 'public',
    summary: 'Propose a skill for the taxonomy',
    description:
      'The operator reviews proposals; an accepted skill appears in the taxonomy after the next build. At most 10 per hour for each IPv4 address or IPv6 /64. Returns 409 if the skill already exists, 422 if a `surface` is not a rail of the ledger.',
    body: proposalBody,
    answers: {
      202: json('Received; awaits review by the operator.', proposalTaken),
    },
    serving: privateHandler,
  },
  {
    id: 'submitFeedback',
    method: 'POST',
    path: `${apiPrefix}/feedback`,
    tag: 'Feedback',
    access: 'public',
    summary: 'Send feedback to the operator',
    description:
      'At most 5 per hour for each fingerprint (a keyed hash of network and user agent, with a new key every day) and 30 per hour for each network. The limits are best effort, since senders are anonymous. The same text within 15 minutes returns the first entry.',
    body: feedbackBody,
    answers: {
      200: json('The same text was received within the last 15 minutes.', feedbackTaken),
      201: json('Received.', feedbackTaken),
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
