/** Receivers of webhooks: each request is checked on arrival. */
import { createHmac } from 'node:crypto'

import { z } from 'zod'

import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import type { Process } from './machine.ts'
import type { WebhookRequest, WebhooksOracle } from './oracle/webhooks.ts'
import type { Run } from './run.ts'

export type Receivers = ReturnType<typeof createReceivers>

const weights = {
  204: 60,
  200: 10,
  500: 12,
  302: 3,
  410: 2,
  stalls: 5,
  'cuts off': 5,
  'cuts off late': 8,
} as const

const message = z.object({ type: z.string(), data: z.record(z.string(), z.unknown()) })

/** @param oracle is notified of a request before it leaves, when it arrives, and of the outcome that its sender sees */
export function createReceivers(
  { machine, chanceFor }: Run,
  { leaves, arrives, hears }: Pick<WebhooksOracle, 'leaves' | 'arrives' | 'hears'>,
) {
  const chance = chanceFor('receivers')
  let isCalm = false
  return {
    reach:
      (process: Process): PinnedFetch =>
      async ({ url, headers, body }) => {
        const outcome = isCalm ? '204' : chance.weighted(weights)
        const isEarly = chance.happens(0.5)
        const request = requestOf(url, headers, body)
        leaves(request)
        const isReached = outcome !== 'cuts off'
        if (isReached && isEarly) arrives(request)
        return await machine.answer(process, `a receiver: ${outcome}`, () => {
          if (isReached && !isEarly) arrives(request)
          const status = Number(outcome)
          const isAccepted = status === 200 || status === 204
          hears(request.id, isAccepted ? 'accepted' : status === 410 ? 'gone' : 'failed')
          if (outcome === 'stalls') throw new OutboundError('timeout', 'It took too long')
          if (Number.isNaN(status)) throw new OutboundError('unreachable', 'It cut off')
          const { challenge } = request.body.data
          const proof = typeof challenge === 'string' ? challenge : ''
          return { status, contentType: null, body: Buffer.from(proof) }
        })
      },
    calm: (): void => {
      isCalm = true
    },
  }
}

/** By Standard Webhooks, the signature covers the id, the time and the body. */
function requestOf(
  url: string,
  headers: Readonly<Record<string, string>>,
  text: string,
): WebhookRequest {
  const id = headers['webhook-id'] ?? ''
  const timestamp = headers['webhook-timestamp'] ?? ''
  return {
    id,
    url,
    body: message.parse(JSON.parse(text)),
    isSignedWith: (secret) => {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
      const signed = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`)
      return headers['webhook-signature'] === `v1,${signed.digest('base64')}`
    },
    timestamp: Number(timestamp),
  }
}
