import { readdir, readFile } from 'node:fs/promises'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { parseFrontMatter } from '../../src/core/front-matter.ts'

const dataDir = new URL('../../data/', import.meta.url)

async function readData(file: string): Promise<unknown> {
  return JSON.parse(await readFile(new URL(file, dataDir), 'utf8'))
}

const tiersSchema = z.strictObject({
  tiers: z.array(
    z.strictObject({
      tier: z.string(),
      name: z.string().min(1),
      price_usdc_month: z.number(),
      wallet_rate_multiplier: z.number().nullable(),
      features: z.array(z.string().regex(/^[A-Z0-9].*\.$/)).nonempty(),
      covers: z.array(z.string()),
    }),
  ),
})

describe('data/tiers.json', async () => {
  const { tiers } = tiersSchema.parse(await readData('tiers.json'))

  test('lists five tiers by price, with their limits', () => {
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

  test('covers the sold reads in every tier, and the arbitrage ranking from pro on', () => {
    const fromFree = ['/reputation/{wallet}', '/alerts/feed', '/og']
    const all = ['/arbitrage', ...fromFree]
    expect(tiers.map(({ covers }) => covers)).toEqual([fromFree, fromFree, all, all, all])
  })
})

const oathsSchema = z.strictObject({
  oaths: z.array(
    z.strictObject({ kind: z.string(), version: z.int().positive(), text: z.string() }),
  ),
})

describe('data/oaths.json', async () => {
  const { oaths } = oathsSchema.parse(await readData('oaths.json'))

  test('contains one oath each for workers, claims and partners', () => {
    expect(oaths.map(({ kind }) => kind)).toEqual(['worker', 'claim', 'partner'])
  })

  test('opens each oath with fixed words that name service, kind and version', () => {
    for (const { kind, version, text } of oaths) {
      expect(text.split('\n')[0]).toBe(`agent-income-ledger ${kind} oath, version ${version}`)
    }
  })

  test('has one placeholder for the wallet and one for the time', () => {
    for (const { text } of oaths) {
      expect(text.match(/\{[^}]*\}/g)).toEqual(['{WALLET}', '{TIMESTAMP}'])
    }
  })

  test('contains no bytes that wallets display or sign differently', () => {
    for (const { text } of oaths) expect(text).toMatch(/^[ -~\n]+$/)
  })
})

const platformsSchema = z.strictObject({
  platforms: z.array(
    z.strictObject({
      platform: z.string().regex(/^[a-z0-9_-]+$/),
      name: z.string().min(1),
      public_key: z.string().refine((key) => Buffer.from(key, 'base64').length === 32),
      rails: z.array(z.string()).nonempty(),
      added_at: z.iso.datetime(),
      revoked_at: z.iso.datetime().optional(),
    }),
  ),
})

describe('data/platforms.json', () => {
  test('contains valid entries with unique slugs', async () => {
    const { platforms } = platformsSchema.parse(await readData('platforms.json'))
    expect(new Set(platforms.map(({ platform }) => platform)).size).toBe(platforms.length)
  })

  test('has a README with a valid example entry', async () => {
    const readme = await readFile(new URL('platforms.README.md', dataDir), 'utf8')
    const example = /```json\n([^`]+)```/.exec(readme)?.[1] ?? ''
    expect(() => platformsSchema.parse({ platforms: [JSON.parse(example)] })).not.toThrow()
  })
})

const articleSchema = z.strictObject({
  title: z.string().min(1).max(120),
  date: z.iso.date(),
  excerpt: z.string().min(60).max(300),
  keywords: z.array(z.string().regex(/^[a-z0-9]/)).nonempty(),
})

describe('data/desk', async () => {
  const files = await readdir(new URL('desk/', dataDir))
  const articles = await Promise.all(
    files.map(async (file) => ({
      file,
      ...parseFrontMatter(await readFile(new URL(`desk/${file}`, dataDir), 'utf8')),
    })),
  )

  test('names each article by its slug', () => {
    expect(files.filter((file) => !/^[a-z0-9]+(-[a-z0-9]+)*\.md$/.test(file))).toEqual([])
    expect(files.length).toBeGreaterThanOrEqual(4)
  })

  test.each(articles)('$file has valid front matter', ({ fields }) => {
    expect(() => articleSchema.parse(fields)).not.toThrow()
  })

  test.each(articles)('$file has the length of an article', ({ body }) => {
    const words = body.split(/\s+/).length
    expect(words).toBeGreaterThanOrEqual(500)
    expect(words).toBeLessThanOrEqual(900)
    expect(body).toMatch(/^## /m)
    expect(body).not.toMatch(/^# /m)
  })
})
