/** Receivers of webhooks: each request is checked on arrival. */
import { createHmac } from 'node:crypto'

import { z } from 'zod'

import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import type { Machine, Process } from './machine.ts'
import type { Chance } from './random.ts'

export type DeliveryOutcome = 'taken' | 'failed' | 'gone'

export interface Post {
  readonly id: string
  readonly url: string
  readonly body: { readonly type: string; readonly data: Readonly<Record<string, unknown>> }
  readonly isSignedWith: (secret: string) => boolean
  readonly timestamp: number
}

export interface Receivers {
  readonly reach: (process: Process) => PinnedFetch
  /** All accept from now on. */
  readonly calm: () => void
}

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

export function createReceivers(given: {
  readonly machine: Pick<Machine, 'answer'>
  readonly chance: Chance
  /** Called with a request before it leaves, of one that arrives, and of what the sender hears. */
  readonly leaves: (post: Post) => void
  readonly arrives: (post: Post) => void
  readonly hears: (id: string, told: DeliveryOutcome) => void
}): Receivers {
  const { machine, chance, leaves, arrives, hears } = given
  let isCalm = false
  return {
    reach:
      (process) =>
      async ({ url, headers, body }) => {
        const outcome = isCalm ? '204' : chance.weighted(weights)
        const isEarly = chance.happens(0.5)
        const post = postOf(url, headers, body)
        const { id } = post
        leaves(post)
        const isThere = outcome !== 'cuts off'
        if (isThere && isEarly) arrives(post)
        return await machine.answer(process, `a receiver: ${outcome}`, () => {
          if (isThere && !isEarly) arrives(post)
          const status = Number(outcome)
          const isTaken = status === 200 || status === 204
          hears(id, isTaken ? 'taken' : status === 410 ? 'gone' : 'failed')
          if (outcome === 'stalls') throw new OutboundError('timeout', 'It took too long')
          if (Number.isNaN(status)) throw new OutboundError('unreachable', 'It cut off')
          return { status, contentType: null, body: Buffer.alloc(0) }
        })
      },
    calm: () => {
      isCalm = true
    },
  }
}

/** After Standard Webhooks: the signature is over the id, the time and the body. */
function postOf(url: string, headers: Readonly<Record<string, string>>, text: string): Post {
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
