/** What anyone may send: feedback and proposals for the taxonomy. */
import type { ActionDeps } from '../../actions/deps.ts'
import { submitFeedback } from '../../actions/feedback.ts'
import { proposeSkill } from '../../actions/proposals.ts'
import type { Sender } from '../../actions/sender.ts'
import { feedbackBody } from '../../contract/schemas/feedback.ts'
import { proposalBody } from '../../contract/schemas/skill.ts'
import { write } from '../handlers.ts'
import { networkWords } from '../network-key.ts'

export function feedbackHandlers(deps: ActionDeps) {
  return {
    proposeSkill: write(proposalBody, (sent) =>
      proposeSkill(deps, { body: sent.body, request: sent.request, sender: senderOf(sent) }),
    ),
    submitFeedback: write(feedbackBody, (sent) =>
      submitFeedback(deps, { body: sent.body, request: sent.request, sender: senderOf(sent) }),
    ),
  }
}

/** One IPv4 address is one sender, and one /64 of IPv6: whoever has that may send from any address in it. */
function senderOf(sent: { readonly address: string; readonly userAgent: string }): Sender {
  const words = networkWords(sent.address)
  return { network: words === null ? 'unknown' : words.join('.'), userAgent: sent.userAgent }
}
