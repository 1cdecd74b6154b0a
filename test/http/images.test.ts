import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'

import { documentsOf } from '../../builder/documents/index.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { makePartner } from '../support/partners.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, partnerHeaders } from '../support/wallets.ts'
import { railRecord, smallWorld, worldNowMs } from '../support/world.ts'

const path = '/api/v1/og'
const alice = evmWallet('alice')
const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
})

beforeAll(async () => {
  await makePartner(service, alice, { handle: 'alice', tier: 'free' })
})

async function ask(page: string | null, wallet = alice, format?: string): Promise<Response> {
  const headers = await partnerHeaders(
    wallet,
    { method: 'GET', path },
    { nowMs: service.clock.now() },
  )
  const named = page === null ? {} : { page }
  const query = new URLSearchParams({ ...named, ...(format === undefined ? {} : { format }) })
  return await fetch(`${service.url}${path}?${String(query)}`, { headers })
}

describe('the picture of a page', () => {
  test.each([
    ['/', '2 of 4 rails pay AI agents'],
    ['/rails/alpha', 'Rail alpha'],
    ['/opportunities', 'agents now'],
    ['/honesty', '2 open doubts about figures'],
    ['/leaderboard', '1 worker'],
    ['/pacts', '1 settled pact'],
    ['/desk', '2 articles'],
    ['/desk/first-words', 'First &quot;words&quot; \\ and more'],
  ])('of %s has what is published', async (page, words) => {
    const answer = await ask(page)
    expect(answer.status).toBe(200)
    const svg = await answer.text()
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 1200 630"/)
    expect(svg).toContain(words)
    expect(svg).not.toMatch(/undefined|NaN|\[object/)
  })

  test('can do nothing where it is opened, and is kept by nobody', async () => {
    const { headers } = await ask('/')
    expect(headers.get('content-type')).toBe('image/svg+xml')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('is a PNG of the same size where that is asked for, made once for each published set', async () => {
    const first = await ask('/rails/alpha', alice, 'png')
    expect(first.status).toBe(200)
    expect(first.headers.get('content-type')).toBe('image/png')
    expect(first.headers.get('cache-control')).toBe('private, no-store')
    const bytes = Buffer.from(await first.arrayBuffer())
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 1200, height: 630 })
    const again = await Promise.all(
      ['/rails/alpha', '/', '/desk', '/pacts'].map((page) => ask(page, alice, 'png')),
    )
    const pictures = await Promise.all(again.map((answer) => answer.arrayBuffer()))
    expect(Buffer.from(pictures[0] ?? new ArrayBuffer(0)).equals(bytes)).toBe(true)
    expect(new Set(pictures.map((picture) => sha256Hex(Buffer.from(picture)))).size).toBe(4)
  })

  test('is in no other format: 400', async () => {
    expect((await ask('/', alice, 'webp')).status).toBe(400)
  })

  test('is of the home page where none is named', async () => {
    expect(await (await ask(null)).text()).toBe(await (await ask('/')).text())
  })

  test.each(['/rails/nothing', '/desk/nothing', '/prices', 'home', '//', '/rails/<b>', '/rails/'])(
    'of %s is not made: 400 with the pages there are',
    async (page) => {
      const answer = await ask(page)
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('/rails/{name}')
    },
  )

  test('asks to be paid, or for the signature of a partner', async () => {
    expect((await fetch(`${service.url}${path}?page=/`)).status).toBe(402)
    expect((await ask('/', evmWallet('mallory'))).status).toBe(403)
  })

  test('follows what is published, and names from outside stay text', async () => {
    const name = '"><script>alert(1)</script>'
    const rails = [railRecord('omega', { authored: { display_name: name } })]
    await service.published.publish([...documentsOf(smallWorld({ rails }))], worldNowMs + 1000)
    await service.store.reload()
    const svg = await (await ask('/rails/omega')).text()
    expect(svg).toContain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(svg).not.toContain('<script')
    expect((await ask('/rails/alpha')).status).toBe(400)
  })
})
