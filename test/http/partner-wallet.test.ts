/** A partner moves to another wallet. */
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { messages } from '../../src/auth/messages.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { expectRefusal, signedRequest } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, solanaWallet, testService } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

const service = useService()
const [old, next, other] = [evmWallet('old'), solanaWallet('next'), evmWallet('other')]
const path = '/api/v1/partners/acme-agents/wallet'
const asOld = partnerClient(service, old)
const asNext = partnerClient(service, next)
const asOther = partnerClient(service, other)

beforeEach(async () => {
  await makePartner(service, old, { handle: 'acme-agents', tier: 'pro' })
  await makePartner(service, other, { handle: 'other' })
})

async function moveTo(wallet: TestWallet, signer = wallet, oldWallet = old.address) {
  const timestamp = isoTime(service.clock.now())
  const from = { timestamp, handle: 'acme-agents', oldWallet, wallet: wallet.address }
  const signature = await signer.sign(messages.partnerWallet(testService, from))
  return { wallet: wallet.address, timestamp, signature }
}

const posted = z.looseObject({ id: z.string() })
const job = () => ({
  title: 'Proofread a manual',
  description: '120 pages.',
  skills: ['translation'],
  budget_usdc: 10,
  deadline: isoTime(service.clock.now() + hourMs),
})

test('a partner keeps its tier, alerts and handle when both wallets sign the move', async () => {
  const hook = { url: 'https://hooks.example.com/' }
  expect((await asOld('POST', '/api/v1/alerts/subscribe', hook)).status).toBe(201)
  const send = await signedRequest(service, old, {
    method: 'PATCH',
    path,
    body: await moveTo(next),
  })
  const moved = await send()
  expect(moved).toMatchObject({
    status: 200,
    body: { handle: 'acme-agents', wallet: next.address, tier: 'pro', status: 'active' },
  })
  expect((await send()).body).toEqual(moved.body)
  expect((await asNext('GET', '/api/v1/partners/me')).body).toMatchObject({ tier: 'pro' })
  expect((await asNext('GET', '/api/v1/alerts/subscriptions')).body).toMatchObject({ total: 1 })
  expectRefusal(await asOld('GET', '/api/v1/partners/me'), 403, 'not_a_partner')
  const { body } = await service.getJson('/api/v1/partners/acme-agents/oaths')
  expect(body['oaths']).toMatchObject([
    { action: 'changePartnerWallet', binding: 'statement', wallet: next.address },
    { action: 'changePartnerWallet', wallet: old.address },
    { action: 'subscribeAlerts' },
    { action: 'signupPartner' },
  ])
})

test('a partner is not moved by one signature, for another handle, or to a wallet in use', async () => {
  expectRefusal(await asOld('PATCH', path, await moveTo(next, old)), 401, 'signature_invalid')
  const elsewhere = await moveTo(next, next, other.address)
  expectRefusal(await asOld('PATCH', path, elsewhere), 401, 'signature_invalid')
  expectRefusal(await asOther('PATCH', path, elsewhere), 403, 'forbidden')
  expectRefusal(await asOld('PATCH', path, await moveTo(other)), 409, 'conflict')
  expect((await asOld('GET', '/api/v1/partners/me')).status).toBe(200)
})

test('a partner is not moved while it has an unfinished job, and its open bids lapse', async () => {
  const own = posted.parse((await asOld('POST', '/api/v1/jobs', job())).body)
  expectRefusal(await asOld('PATCH', path, await moveTo(next)), 409, 'conflict')
  expect((await asOld('POST', `/api/v1/jobs/${own.id}/cancel`, {})).status).toBe(200)
  const theirs = posted.parse((await asOther('POST', '/api/v1/jobs', job())).body)
  const work = `/api/v1/jobs/${theirs.id}`
  const bid = { price_usdc: 9, eta_hours: 1, proposal: 'I read fast.' }
  expect((await asOld('POST', `${work}/bid`, bid)).status).toBe(201)
  expect((await asOld('PATCH', path, await moveTo(next))).status).toBe(200)
  expect((await asOther('GET', `${work}/bids`)).body).toMatchObject({
    bids: [{ status: 'lapsed' }],
  })
})
