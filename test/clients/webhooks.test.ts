/** The library of Standard Webhooks verifies what the builder delivers. */
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { deliverOnce } from '../support/deliver.ts'
import { startReceiver } from '../support/https-receiver.ts'
import type { Receiver } from '../support/https-receiver.ts'
import { usePackages } from '../support/packages.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const packages = usePackages('standardwebhooks@1.1.1')
const service = useService()
let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
  return () => receiver.stop()
})

type Headers = Readonly<Record<string, unknown>>
const library = z.object({
  Webhook:
    z.custom<new (secret: string) => { verify: (body: string, headers: Headers) => unknown }>(),
})

test('standardwebhooks verifies deliveries, during the replacement of a secret with both secrets', async () => {
  const { Webhook } = library.parse(packages.load('standardwebhooks'))
  const alice = evmWallet('alice')
  // The library compares the time of a delivery with its own clock.
  service.clock.advance(Date.now() - service.clock.now())
  await makePartner(service, alice, { handle: 'alice' })
  const base = '/api/v1/alerts'
  const send = async (path: string, body: object) => {
    const answer = await partnerClient(service, alice)('POST', `${base}/${path}`, body)
    return z.looseObject({ id: z.string(), secret: z.string() }).partial().parse(answer.body)
  }
  /** Whether the newest delivery is verified by each of the secrets, and a changed body by none. */
  const verified = (...secrets: readonly (string | undefined)[]) => {
    const { headers, body } = receiver.requests.at(-1) ?? { headers: {}, body: '' }
    return secrets.map((secret = '') => {
      const webhook = new Webhook(secret)
      expect(() => webhook.verify(`${body} `, headers)).toThrow('No matching signature found')
      try {
        expect(webhook.verify(body, headers)).toEqual(JSON.parse(body))
        return true
      } catch {
        return false
      }
    })
  }
  const { id = '', secret: first } = await send('subscribe', { url: 'https://hooks.example.com/' })
  expect(await deliverOnce(service, receiver)).toMatchObject({ delivered: 1 })
  expect(verified(first)).toEqual([true])

  const { secret: second } = await send(`subscriptions/${id}/rotate`, {})
  await send(`subscriptions/${id}/test`, {})
  expect(await deliverOnce(service, receiver)).toMatchObject({ delivered: 1 })
  expect(verified(first, second)).toEqual([true, true])

  const { secret: third } = await send(`subscriptions/${id}/rotate`, {})
  await send(`subscriptions/${id}/test`, {})
  expect(await deliverOnce(service, receiver)).toMatchObject({ delivered: 1 })
  expect(verified(first, second, third)).toEqual([false, true, true])
})
