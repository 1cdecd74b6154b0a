import sharp from 'sharp'
import { beforeAll, describe, expect, test } from 'vitest'

import { sha256Hex } from '../../src/auth/messages.ts'
import { makePartner } from '../support/partners.ts'
import { documentsOf } from '../support/site.ts'
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

describe('the preview image of a page', () => {
  test.each([
    ['/', '2 of 4 judged rails pay AI agents'],
    ['/rails/alpha', 'Rail alpha'],
    ['/opportunities', 'agents now'],
    ['/honesty', '2 open doubts about figures'],
    ['/leaderboard', '1 worker'],
    ['/pacts', '1 settled pact'],
    ['/desk', '2 articles'],
    ['/desk/first-words', 'First &quot;words&quot; \\ and more'],
  ])('the preview image of %s shows the published figures', async (page, words) => {
    const answer = await ask(page)
    expect(answer.status).toBe(200)
    const svg = await answer.text()
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="0 0 1200 630"/)
    expect(svg).toContain(words)
    expect(svg).not.toMatch(/undefined|NaN|\[object/)
  })

  test('a preview image has no active content and is never cached', async () => {
    const { headers } = await ask('/')
    expect(headers.get('content-type')).toBe('image/svg+xml')
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('private, no-store')
  })

  test('a preview image is a PNG of the same size on request, rendered once per published set', async () => {
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

  test('a preview image in any other format returns 400', async () => {
    expect((await ask('/', alice, 'webp')).status).toBe(400)
  })

  test('the preview image shows the home page by default', async () => {
    expect(await (await ask(null)).text()).toBe(await (await ask('/')).text())
  })

  test.each(['/rails/nothing', '/desk/nothing', '/prices', 'home', '//', '/rails/<b>', '/rails/'])(
    'the preview image of %s returns 400 with the list of pages',
    async (page) => {
      const answer = await ask(page)
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('/rails/{name}')
    },
  )

  test('a preview image requires a payment or the signature of a partner', async () => {
    expect((await fetch(`${service.url}${path}?page=/`)).status).toBe(402)
    expect((await ask('/', evmWallet('mallory'))).status).toBe(403)
  })

  test('a preview image changes with the published documents and escapes untrusted names', async () => {
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
