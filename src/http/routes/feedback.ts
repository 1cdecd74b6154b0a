import type { ActionDeps } from '../../actions/deps.ts'
import { submitFeedback } from '../../actions/feedback.ts'
import { proposeSkill } from '../../actions/proposals.ts'
import type { Handlers } from '../handler-types.ts'

export function feedbackHandlers(deps: ActionDeps) {
  return {
    proposeSkill: ({ body }, context) => proposeSkill(deps, { ...context, body }),
    submitFeedback: ({ body }, context) => submitFeedback(deps, { ...context, body }),
  } satisfies Partial<Handlers>
}
