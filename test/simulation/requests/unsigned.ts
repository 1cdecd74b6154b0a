/** Feedback and proposals, which are not signed. */
import { senderOf, sentOf } from './sent.ts'
import type { Circumstances, Sent } from './sent.ts'

const none = { wallet: null, proofs: [] } as const

export function feedback(at: Circumstances): Sent {
  const { chance, number } = at
  const from = senderOf(at)
  const words = chance.happens(0.6) ? `words ${number}` : `the same words ${chance.below(2)}`
  const text = `${words} from ${from.address} by ${from.agent}`
  return sentOf(at, { body: { message: text }, intent: { kind: 'feedback', text }, ...none }, from)
}

export function propose(at: Circumstances): Sent {
  const { number } = at
  const text = `Something new, ${number}.`
  const body = {
    name: `Unheard of ${number}`,
    category: 'research-analysis',
    surface: ['x402'],
    description: text,
  }
  const intent = { kind: 'propose', text, slug: `unheard-of-${number}` } as const
  return sentOf(at, { body, intent, ...none })
}
