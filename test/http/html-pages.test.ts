import { beforeAll, describe, expect, test } from 'vitest'

import type { PublicDocument } from '../../builder/publish/document.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { jsonDocument, sampleDocuments } from '../support/http-service.ts'
import { send } from '../support/raw-http.ts'
import { receiptRow, storeReceipt } from '../support/receipts.ts'
import { useService, useServices } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const browser = 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const worker = evmWallet('worker')
const receiptId = `rcp_${'1f'.repeat(32)}`
const at = '2026-11-22T06:00:00.000Z'
const reversed = {
  id: 'flg_1',
  rail: null,
  kind: 'receipt_reversed',
  severity: 'warning',
  title: 'A receipt lost its proof',
  evidence: { receipt_id: receiptId, reason: 'no such transaction' },
  opened_at: at,
}

function page(path: string, words: string): PublicDocument {
  const contentType = 'text/html; charset=utf-8'
  const body = { text: `<!doctype html><p>${words}</p>` }
  return { path, contentType, maxAgeSeconds: 60, body, archive: null }
}

const service = useService({
  documents: [
    ...sampleDocuments,
    jsonDocument('/api/v1/honesty/flags', { count: 1, flags: [reversed], computed_at: at }),
    page('/honesty', 'Flags.'),
    page('/docs', 'Guides.'),
    { ...page('/docs.md', 'Guides.'), contentType: 'text/markdown; charset=utf-8' },
    page('/503', 'Not right now.'),
    page('/rails/x402', 'A rail.'),
  ],
  per: 'file',
  options: () => ({
    limits: 'on',
    extend: ({ hono }) => {
      hono.get('/broken', () => {
        throw new Error('a fault')
      })
    },
  }),
})
const unpublished = useServices([])

beforeAll(async () => {
  const nowMs = service.clock.now()
  await service.actions.database.write((tx) =>
    storeReceipt(tx, receiptRow(nowMs, { id: receiptId, to: parseWallet(worker.address) })),
  )
})
const get = (path: string, ...headers: string[]) => send(service.address, `GET ${path}`, headers)

test.each([
  ['/docs/', '/docs'],
  ['/flags', '/honesty'],
])('%s redirects to the page %s', async (path, place) => {
  const { status, headers } = await get(path, browser)
  expect([status, headers.get('location')]).toEqual([308, place])
  const { headers: policies } = await get(place)
  expect(policies.get('referrer-policy')).toBe('same-origin')
})

describe('an error response to a page request', () => {
  test('a browser gets an HTML page for an unknown path', async () => {
    const person = await get('/no/such/page', browser)
    expect(person.status).toBe(404)
    expect(person.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(person.headers.get('cache-control')).toBe('no-store')
    expect(person.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(person.headers.get('vary')).toBe('Accept')
    expect(person.body.toString()).toContain('There is nothing at this address')
  })

  test('a browser at a mistyped address gets the names that resemble it', async () => {
    const { status, body } = await get('/rails/x_402', browser)
    expect(status).toBe(404)
    expect(body.toString()).toContain('<a href="/rails/x402">x402</a>')
  })

  test('a browser at a sold read gets a page, and a program the terms', async () => {
    const person = await get('/api/v1/arbitrage', browser)
    expect(person.status).toBe(402)
    expect(person.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(person.body.toString()).toContain('href="/docs/errors#payment_off"')
    const program = await get('/api/v1/arbitrage', 'Accept: */*')
    expect(JSON.parse(program.body.toString())).toHaveProperty('accepts')
  })

  test.each([
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/json, text/html;q=0.9', 'application/json'],
    ['text/html', 'text/html; charset=utf-8'],
    ['text/html;q=0', 'application/json'],
    ['Text/HTML', 'text/html; charset=utf-8'],
    ['text/html, application/json', 'application/json'],
    ['text/html, application/json;q=0.5', 'text/html; charset=utf-8'],
    ['application/json;q=0.2, text/html;q=0.1', 'application/json'],
    ['text/html;q=nonsense', 'application/json'],
  ])('an error response to the Accept header %j has the type %s', async (accept, type) => {
    const { headers } = await get('/no/such/page', ...(accept === '' ? [] : [`Accept: ${accept}`]))
    expect(headers.get('content-type')).toBe(type)
  })

  test.each(['/api/v1/rails/none', '/api/v1/none', '/.well-known/none', '/mcp/none'])(
    'an error response at %s is JSON for every client',
    async (path) => {
      const { status, body } = await get(path, browser)
      expect(status).toBe(404)
      expect(JSON.parse(body.toString())).toHaveProperty('code')
    },
  )

  test('an internal error returns a 500 page to a browser, without details of the error', async () => {
    const { status, body } = await get('/broken', browser)
    expect(status).toBe(500)
    expect(body.toString()).toContain('Not right now.')
    expect(body.toString()).not.toContain('a fault')
    expect((await get('/broken')).body.toString()).toContain('"code":"internal_error"')
  })

  test('every page is a plain 503 with Retry-After before the first publication', async () => {
    const bare = await unpublished.start()
    for (const path of ['/', '/none', '/docs/signing', '/llms.txt']) {
      const { status, headers, body } = await send(bare.address, `GET ${path}`, [browser])
      const shown = [path, status, headers.get('content-type'), headers.get('retry-after')]
      expect(shown).toEqual([path, 503, 'text/html; charset=utf-8', '5'])
      expect(body.toString()).toContain('try again in a minute')
    }
    const program = await send(bare.address, 'GET /.well-known/api-catalog', [])
    expect([program.status, program.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await send(bare.address, 'GET /api/v1/none', [])).status).toBe(404)
  })

  test('an error response to HEAD has no body but the length of the page', async () => {
    const { status, headers, body } = await send(service.address, 'HEAD /none', [browser])
    expect([status, body.length]).toEqual([404, 0])
    expect(Number(headers.get('content-length'))).toBeGreaterThan(20)
  })
})

describe('a page that is not published', () => {
  test('a page that is not published is rendered on request, as HTML and as Markdown', async () => {
    const address = worker.address
    for (const [path, title] of [
      [`/receipts/${receiptId}`, '10.00 USDC on '],
      [`/workers/${address}`, `Worker ${address.slice(0, 10)}`],
      [`/workers/${address.toLowerCase()}`, `Worker ${address.slice(0, 10)}`],
    ] as const) {
      const page = await get(path)
      const markdown = await get(`${path}.md`)
      expect([path, page.status, markdown.status]).toEqual([path, 200, 200])
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8')
      expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
      for (const { headers } of [page, markdown]) {
        expect(headers.get('cache-control')).toMatch(/^public, max-age=60/)
      }
      expect(page.body.toString()).toContain(`<h1>${title}`)
      expect(markdown.body.toString()).toContain(`# ${title}`)
      expect(page.body.toString()).toContain(receiptId)
      expect(markdown.body.toString()).toContain(`(https://ledger.test/api/v1/receipts`)
    }
  })

  test('the page of a receipt that was reversed says what the open flag found', async () => {
    const { body } = await get(`/receipts/${receiptId}.md`)
    expect(body.toString()).toContain(
      'No such transaction. [A receipt lost its proof](https://ledger.test/honesty#flg_1)',
    )
  })

  test('a list page is cached by the browser only, and not indexed by search engines', async () => {
    const { headers, body } = await get('/view/receipts')
    expect(headers.get('cache-control')).toBe('private, max-age=60')
    expect(body.toString()).toContain('<meta name="robots" content="noindex" />')
    expect(body.toString()).not.toContain('text/markdown')
  })

  test.each([
    [`/view/receipts?q=${receiptId}`, `/receipts/${receiptId}`],
    [`/view/workers?q=${worker.address}`, `/workers/${worker.address}`],
    [`/view/jobs?q=job_${'0'.repeat(24)}`, `/jobs/job_${'0'.repeat(24)}`],
    ['/view/partners?q=poster', '/partners/poster'],
    ['/view/partners?q=', '/partners'],
  ])('%s redirects to the page of the single entry', async (path, target) => {
    const { status, headers } = await get(path)
    expect([status, headers.get('location')]).toEqual([303, target])
    expect(headers.get('cache-control')).toBe('private, max-age=60')
  })

  test.each([
    ['/view/receipts', '1 found'],
    [`/view/receipts?q=${worker.address}`, '1 found'],
    [`/view/receipts?q=${evmWallet('nobody').address}`, '0 found'],
    ['/view/workers?q=technical-writing', '0 found'],
    ['/view/jobs?q=open', '0 found'],
    ['/view/jobs', '0 found'],
    [
      '/view/jobs?q=%3Cscript%3E',
      'Nothing found. Enter a job id, status, skill or wallet of the poster.',
    ],
    ['/view/partners?q=NOT%20A%20HANDLE', 'Nothing found. Enter a handle of a partner.'],
  ])('the list at %s shows the result of the search: %s', async (path, result) => {
    const { status, body } = await get(path)
    expect(status).toBe(200)
    expect(body.toString()).toContain(`<output role="status">${result}</output>`)
    expect(body.toString()).not.toContain('<script>')
  })

  test('a list page rejects a cursor that is not its own', async () => {
    const { status, body } = await get('/view/receipts?cursor=nonsense')
    expect(status).toBe(400)
    expect(JSON.parse(body.toString())).toMatchObject({ code: 'bad_cursor' })
  })

  test.each([
    [`/receipts/rcp_${'00'.repeat(32)}`, 'unknown_receipt'],
    [`/receipts/rcp_${'00'.repeat(32)}.md`, 'unknown_receipt'],
    [`/view/receipt?id=${receiptId}`, 'not_found'],
    [`/workers/${evmWallet('nobody').address}`, 'unknown_worker'],
    ['/workers/0x12', 'unknown_worker'],
    [`/jobs/job_${'0'.repeat(24)}`, 'unknown_job'],
    ['/partners/nobody', 'unknown_partner'],
    ['/partners/NOT-A-HANDLE', 'unknown_partner'],
  ])('%s returns 404 for an unknown entry', async (path, code) => {
    const { status, body } = await get(path)
    expect(status).toBe(404)
    expect(JSON.parse(body.toString())).toMatchObject({ code })
    expect((await get(path, browser)).body.toString()).toContain('There is nothing at this address')
  })
})

test('pages rendered on request are rate limited like the API', async () => {
  const limited = await unpublished.start({ limits: 'on' })
  let status = 0
  for (let at = 0; at < 200 && status !== 429; at += 1) {
    ;({ status } = await send(limited.address, 'GET /partners/nobody'))
  }
  expect(status).toBe(429)
  expect((await send(limited.address, 'GET /none')).status).toBe(503)
})

test.each([
  ['/docs', 'text/markdown', 303],
  ['/docs', 'text/markdown, text/html;q=0.9, */*;q=0.1', 303],
  [`/receipts/${receiptId}`, 'text/markdown', 303],
  ['/docs', 'text/html, text/markdown;q=0.5', 200],
  ['/docs', '*/*', 200],
  ['/honesty', 'text/markdown', 200],
])('%s with Accept: %s answers %i', async (path, accept, status) => {
  const answer = await get(path, `Accept: ${accept}`)
  expect(answer.status).toBe(status)
  if (status === 200) return
  const shown = ['location', 'cache-control', 'vary'].map((name) => answer.headers.get(name))
  expect(shown).toEqual([`${path}.md`, 'no-store', 'Accept'])
  const markdown = await get(`${path}.md`)
  expect(markdown.headers.get('content-type')).toMatch(/^text\/markdown/)
})
