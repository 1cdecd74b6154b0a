/** Webhook signatures by Standard Webhooks (standardwebhooks.com, symmetric `v1`). */
import { createHmac } from 'node:crypto'

import { dayMs } from '../core/time.ts'

const PREFIX = 'whsec_'

/** How long deliveries are also signed with the secret before the current one. */
export const previousSecretMs = dayMs

/** `whsec_` and base64 of 32 bytes, derived and never stored. */
export function webhookSecret(
  keyedHash: (purpose: string, text: string) => string,
  subscriptionId: string,
  version = 0,
): string {
  const name = version === 0 ? subscriptionId : `${subscriptionId}.${version}`
  const key = Buffer.from(keyedHash('webhook secret', name), 'hex')
  return `${PREFIX}${key.toString('base64')}`
}

/** `id` is the same for all attempts and contains no dot. */
export function webhookHeaders(message: {
  readonly id: string
  readonly timeMs: number
  readonly payload: string
  /** One signature for each. */
  readonly secrets: readonly string[]
}): Readonly<Record<string, string>> {
  const { id, timeMs, payload, secrets } = message
  const timestamp = String(Math.floor(timeMs / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`)
    return `v1,${signature.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
