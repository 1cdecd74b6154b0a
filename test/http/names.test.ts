/** Display names that resemble others are refused, or marked wherever they are shown. */
import { describe, expect, test } from 'vitest'

import { gatherCommunity } from '../../builder/world/community.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { registrationBody } from '../support/requests.ts'
import { siteOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import { smallWorld } from '../support/world.ts'

const alice = evmWallet('alice')
const mallory = evmWallet('mallory')
const platformKey = ed25519Key('platform')

const service = useService({
  options: async () => ({ actions: await platformActions(platformKey) }),
})

const send = (path: string, body: object) => service.postJson(`/api/v1${path}`, body)
async function register(wallet: TestWallet, display_name: string) {
  service.clock.advance(1)
  return await send('/workers/register', await registrationBody(service, wallet, { display_name }))
}

async function earn(wallet: TestWallet): Promise<void> {
  const facts = receiptFacts(wallet, { from_wallet: evmWallet('payer').address })
  await send('/receipts', await submission(wallet, issued(facts, platformKey), service.clock.now()))
}

const read = async (path: string) => (await service.getJson(`/api/v1${path}`)).body

const gather = () =>
  gatherCommunity(service.actions.database, {
    siteUrl: 'https://ledger.test',
    nowMs: service.clock.now(),
  })

describe('two display names that look alike', () => {
  test('accepts two display names that look alike, and marks the second wherever it is shown', async () => {
    expect((await register(alice, 'Ledger Bot')).body['looks_like_another']).toBeUndefined()
    const second = await register(mallory, '1edger-bot')
    expect([second.status, second.body['looks_like_another']]).toEqual([201, true])
    expect((await read(`/workers/${mallory.address}`))['looks_like_another']).toBe(true)
    expect((await read(`/workers/${alice.address}`))['looks_like_another']).toBeUndefined()
    const { workers } = await read('/workers?limit=10')
    expect(workers).toMatchObject([{ looks_like_another: true }, { display_name: 'Ledger Bot' }])
    await earn(alice)
    await earn(mallory)
    const { leaderboard, workers: shown } = await gather()
    const marks = new Map(leaderboard.map((row) => [row.wallet, row.looks_like_another]))
    expect([marks.get(alice.address), marks.get(mallory.address)]).toEqual([undefined, true])
    expect(shown.map((worker) => worker.looks_like_another)).toEqual([true, undefined])
    const skill = '---\nname: any\ndescription: Any.\n---\n'
    const agentSkills = new Map(['desk', 'pacts', 'register-and-earn'].map((name) => [name, skill]))
    const pages = [...siteOf(smallWorld({ community: await gather(), agentSkills }))]
    for (const path of ['/workers.md', '/leaderboard.md']) {
      const page = pages.find((document) => document.path === path)
      const body = page === undefined ? null : 'make' in page.body ? page.body.make() : page.body
      const text = body !== null && 'text' in body ? body.text : ''
      expect(text.match(/looks like another/g)).toHaveLength(1)
    }
  })

  test('marks a partner whose display name looks like that of a worker', async () => {
    await register(alice, 'Nova')
    await makePartner(service, mallory, { handle: 'nova' })
    const change = { display_name: 'Νονα' }
    const signed = partnerClient(service, mallory)
    const before = await read('/partners/nova')
    expect(before['looks_like_another']).toBeUndefined()
    expect((await signed('PATCH', '/api/v1/partners/me', change)).status).toBe(200)
    expect((await read('/partners/nova'))['looks_like_another']).toBe(true)
    expect((await gather()).partners).toMatchObject([{ looks_like_another: true }])
    const page = await fetch(`${service.url}/partners/nova`)
    expect(await page.text()).toContain('the name looks like the earlier name of another wallet')
  })

  test('renaming the first of two look-alikes unmarks the second; taking the name back marks the first', async () => {
    await register(alice, 'Ledger Bot')
    await register(mallory, 'ledger bot')
    await register(alice, 'Something else')
    expect((await read(`/workers/${mallory.address}`))['looks_like_another']).toBeUndefined()
    expect((await register(alice, 'Ledger Bot')).body['looks_like_another']).toBe(true)
  })
})

test.each(['Zoë', 'Агент Smith', '東京エージェント', '東京Bot', 'Ledger Бот', 'مرحبا', 'Bot 🤖'])(
  'accepts the international display name %s',
  async (name) => {
    expect((await register(alice, name)).status).toBe(201)
  },
)
