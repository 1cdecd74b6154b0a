import { z } from 'zod'

import { bodyModel, model, text } from './common.ts'
import { lineInput, textInput } from './input.ts'

export const feedbackBody = bodyModel('FeedbackBody', {
  message: textInput(4000).describe('At most 4,000 characters.'),
  page: lineInput(300).optional().describe('The page concerned: a path or an address.'),
  contact: lineInput(200).optional().describe('Contact for a reply; never published.'),
  rating: z.int().min(1).max(5).optional().describe('1 to 5.'),
})
export type FeedbackBody = z.infer<typeof feedbackBody>

export const feedbackTaken = model('FeedbackTaken', {
  feedback_id: text(80),
  deduplicated: z.boolean(),
})
