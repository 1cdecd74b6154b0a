import { readFile } from 'node:fs/promises'

import { describe, expect, test } from 'vitest'

import { loadArticles } from '../../builder/world/articles.ts'
import { loadReference } from '../../src/actions/reference.ts'
import { platform } from '../../src/contract/schemas/platform.ts'

const reference = await loadReference('data')

describe('data/tiers.json', () => {
  const tiers = [...reference.tiers.values()]

  test('data/tiers.json lists five tiers by price, with their limits', () => {
    expect(
      tiers.map((tier) => [tier.tier, tier.price_usdc_month, tier.wallet_rate_multiplier]),
    ).toEqual([
      ['free', 0, 1],
      ['starter', 29, 2],
      ['pro', 99, 10],
      ['team', 299, null],
      ['enterprise', 999, null],
    ])
  })

  test('every tier covers the sold reads, and the arbitrage ranking from pro on', () => {
    const fromFree = ['/reputation/{wallet}', '/alerts/feed', '/og']
    const all = ['/arbitrage', ...fromFree]
    expect(tiers.map(({ covers }) => covers)).toEqual([fromFree, fromFree, all, all, all])
  })
})

describe('data/oaths.json', () => {
  const oaths = [...reference.oaths.values()]

  test('each oath opens with fixed words that name service, kind and version', () => {
    for (const { kind, version, text } of oaths) {
      expect(text.split('\n')[0]).toBe(`agent-income-ledger ${kind} oath, version ${version}`)
    }
  })

  test('each oath has one placeholder for the wallet and one for the time', () => {
    for (const { text } of oaths) {
      expect(text.match(/\{[^}]*\}/g)).toEqual(['{WALLET}', '{TIMESTAMP}'])
    }
  })

  test('oaths contain no bytes that wallets display or sign differently', () => {
    for (const { text } of oaths) expect(text).toMatch(/^[ -~\n]+$/)
  })
})

test('data/platforms.README.md has a valid example entry', async () => {
  const readme = await readFile('data/platforms.README.md', 'utf8')
  const example = /```json\n([^`]+)```/.exec(readme)?.[1] ?? ''
  expect(() => platform.parse(JSON.parse(example))).not.toThrow()
})

describe('data/desk', async () => {
  const articles = await loadArticles('data/desk')

  test.each(articles)('$slug has the front matter and the length of an article', (article) => {
    const { title, excerpt, body } = article
    expect(title.length).toBeLessThanOrEqual(120)
    expect(excerpt.length).toBeGreaterThanOrEqual(60)
    expect(excerpt.length).toBeLessThanOrEqual(300)
    const words = body.split(/\s+/).length
    expect(words).toBeGreaterThanOrEqual(500)
    expect(words).toBeLessThanOrEqual(900)
    expect(body).toMatch(/^## /m)
    expect(body).not.toMatch(/^# /m)
  })
})
