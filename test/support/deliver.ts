import { createWebhooks } from '../../builder/jobs/deliver.ts'
import { webhookSecret } from '../../src/outbound/standard-webhook.ts'
import type { Service } from './http-service.ts'
import type { Receiver } from './https-receiver.ts'

/** One round of the builder's deliveries to a receiver, over the service's own database. */
export async function deliverOnce(
  { actions, clock }: Pick<Service, 'actions' | 'clock'>,
  { fetch }: Pick<Receiver, 'fetch'>,
) {
  const { database, keys, random, log } = actions
  return await createWebhooks({
    database,
    clock,
    random,
    log,
    send: fetch,
    secretOf: (id, version) => webhookSecret(keys.hash, id, version),
    userAgent: 'ledger-test',
    signal: new AbortController().signal,
  }).run()
}
