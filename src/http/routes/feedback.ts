/** What anyone may send: feedback and proposals for the taxonomy. */
import type { ActionDeps } from '../../actions/deps.ts'
import { submitFeedback } from '../../actions/feedback.ts'
import { proposeSkill } from '../../actions/proposals.ts'
import { feedbackBody } from '../../contract/schemas/feedback.ts'
import { proposalBody } from '../../contract/schemas/skill.ts'
import { fingerprintOf } from '../client-fingerprint.ts'
import { write } from '../handlers.ts'

export function feedbackHandlers(deps: ActionDeps) {
  return {
    proposeSkill: write(proposalBody, (sent) =>
      proposeSkill(deps, {
        body: sent.body,
        request: sent.request,
        fingerprint: fingerprintOf(sent),
      }),
    ),
    submitFeedback: write(feedbackBody, (sent) =>
      submitFeedback(deps, {
        body: sent.body,
        request: sent.request,
        fingerprint: fingerprintOf(sent),
      }),
    ),
  }
}
