/** Webhook signatures by Standard Webhooks (standardwebhooks.com, symmetric `v1`). */
import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'

/** `whsec_` and base64 of 32 bytes, derived and never stored. */
export function webhookSecret(
  keyedHash: (purpose: string, text: string) => string,
  subscriptionId: string,
): string {
  const key = Buffer.from(keyedHash('webhook secret', subscriptionId), 'hex')
  return `${PREFIX}${key.toString('base64')}`
}

/** `id` is the same for all attempts and contains no dot. */
export function webhookHeaders(message: {
  readonly id: string
  readonly timeMs: number
  readonly payload: string
  readonly secret: string
}): Readonly<Record<string, string>> {
  const { id, timeMs, payload, secret } = message
  const timestamp = String(Math.floor(timeMs / 1000))
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${payload}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature.digest('base64')}`,
  }
}
