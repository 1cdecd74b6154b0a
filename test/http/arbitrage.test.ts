import { describe, expect, test } from 'vitest'

import { arbitrage } from '../../src/contract/schemas/arbitrage.ts'
import { confidenceRule } from '../../src/core/arbitrage.ts'
import { figures } from '../support/figures.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'
import { railRecord, smallWorld, worldNowMs } from '../support/world.ts'

const path = '/api/v1/arbitrage'
const notNet =
  '5 % of the volume came back to its payers, stayed within one party or was passed on; the expected income includes it.'
const alice = evmWallet('alice')
const service = useService({ documents: [...documentsOf(smallWorld())], publishedAtMs: worldNowMs })

const ask = () => partnerClient(service, alice)('GET', path)

describe('the arbitrage ranking', () => {
  test('the arbitrage ranking lists the published earning rails, each with its caveats', async () => {
    await makePartner(service, alice, { handle: 'alice', tier: 'pro' })
    const answer = await ask()
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    const body = arbitrage.parse(answer.body)
    expect(body.count).toBe(3)
    expect(body.confidence_rule).toBe(confidenceRule)
    expect(body.caveats.length).toBeGreaterThan(2)
    const rows = new Map(body.ranking.map((row) => [row.rail, row]))
    expect([...rows.keys()]).toEqual(['alpha', 'delta', 'beta'])
    const { tpv30dMicroUsdc, uniqueCreators30d } = figures()
    const perCreator = Math.floor((tpv30dMicroUsdc ?? 0) / (uniqueCreators30d ?? 1) / 30) / 1e6
    expect(rows.get('alpha')).toMatchObject({
      expected_usd_per_day_per_creator: perCreator,
      breakeven_days: 0,
      confidence: 0.8,
      caveats: [
        notNet,
        'warning: Rail alpha: more than half of the raw volume does not pass the filter rule',
      ],
    })
    expect(rows.get('beta')).toMatchObject({
      expected_usd_per_day_per_creator: null,
      expected_usd_per_day_per_worker: null,
      confidence: 0,
    })
    // Stale and failed are reported once, by the rail and not again by its flags.
    expect(rows.get('delta')).toMatchObject({
      confidence: 0.5,
      caveats: ['No successful poll in the last two cycles.', notNet],
    })
  })

  test('the arbitrage ranking changes with the published documents', async () => {
    await makePartner(service, alice, { handle: 'alice', tier: 'enterprise' })
    expect((await ask()).body['count']).toBe(3)
    const rails = [railRecord('omega', { authored: { entry_cost_usdc: 5 } })]
    await service.published.publish([...documentsOf(smallWorld({ rails }))], worldNowMs + 1000)
    await service.store.reload()
    expect((await ask()).body).toMatchObject({
      count: 1,
      ranking: [{ rail: 'omega', entry_cost_usdc: 5 }],
    })
    await service.published.publish([...documentsOf(smallWorld())], worldNowMs + 2000)
  })

  test('the arbitrage ranking is included from the tier pro upwards', async () => {
    for (const [tier, status] of [
      ['free', 402],
      ['starter', 402],
      ['pro', 200],
      ['team', 200],
      ['enterprise', 200],
    ] as const) {
      const wallet = evmWallet(tier)
      await makePartner(service, wallet, { handle: `a-${tier}`, tier })
      const answer = await partnerClient(service, wallet)('GET', path)
      expect([tier, answer.status]).toEqual([tier, status])
      if (status === 402) expect(answer.body['code']).toBe('tier_required')
    }
    expect((await ask()).status).toBe(403)
    expect((await fetch(`${service.url}${path}`)).status).toBe(402)
  })
})
