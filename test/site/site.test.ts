import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { routes } from '../../src/contract/routes.ts'
import { createRouteTable } from '../../src/http/route-table.ts'
import { openBrowser, watchedPage } from './browser.ts'
import { startSite } from './site-server.ts'
import type { SiteServer } from './site-server.ts'
import { fullWorld } from './worlds.ts'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

let site: SiteServer
let browser: Browser

beforeAll(async () => {
  site = await startSite((url) => fullWorld(url))
  browser = await openBrowser()
})

afterAll(async () => {
  await browser.close()
  await site.stop()
})

/** Every page, as the manifest knows them. */
function pagePaths(): string[] {
  const documents = site.published.manifest.documents
  return documents
    .filter(({ content_type: type }) => type.startsWith('text/html'))
    .map(({ path }) => path)
}

describe('every page', () => {
  test('opens without errors, policy violations or requests to other hosts', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    expect(pagePaths().length).toBeGreaterThan(30)
    for (const path of pagePaths()) {
      await page.goto(`${site.url}${path}`, { waitUntil: 'networkidle' })
      expect(await page.locator('h1').first().textContent(), path).not.toBe('')
      expect(await page.title(), path).toContain('Agent Income Ledger')
    }
    expect(problems).toEqual([])
    await close()
  })

  test('links only to published documents, routes and existing anchors', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    const published = new Set([...site.paths, '/snapshot.json', '/api/v1/health'])
    // Made by the build from what changed since the last one; a site published once has none.
    published.add('/diffs/latest.md')
    // What a handler answers is no document and not there to be opened.
    const known = createRouteTable(routes)
    const anchors = new Map<string, Set<string>>()
    const wanted: { from: string; path: string; hash: string }[] = []
    for (const from of pagePaths()) {
      await page.goto(`${site.url}${from}`)
      const { ids, links } = await page.evaluate(() => ({
        ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
        links: [...document.querySelectorAll('a[href], link[href]')].map(
          (element) => element.getAttribute('href') ?? '',
        ),
      }))
      anchors.set(from, new Set(ids))
      for (const href of links) {
        const url = new URL(href, `${site.url}${from}`)
        if (url.origin === site.url)
          wanted.push({ from, path: url.pathname, hash: url.hash.slice(1) })
      }
    }
    const dead = wanted.filter(({ path, hash }) => {
      // Rendered on request, and not by this server.
      if (path.startsWith('/view/')) return false
      if (!published.has(path)) return known(path)?.resource.isDocument !== false
      return hash !== '' && anchors.get(path)?.has(hash) === false
    })
    expect(wanted.length).toBeGreaterThan(1000)
    expect(dead).toEqual([])
    await close()
  })

  test('fits a phone, where only tables and code scroll sideways', async () => {
    const { page, close } = await watchedPage(browser, site.url, {
      viewport: { width: 360, height: 780 },
    })
    for (const path of pagePaths().filter((candidate) => candidate !== '/docs/try')) {
      await page.goto(`${site.url}${path}`)
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      expect(width, path).toBeLessThanOrEqual(360)
    }
    await close()
  })

  test('has a Markdown form', () => {
    const published = new Set(site.paths)
    const missing = pagePaths().filter(
      (path) => !published.has(path === '/' ? '/index.md' : `${path}.md`),
    )
    expect(missing).toEqual([])
  })
})

const violation = z.object({
  id: z.string(),
  impact: z.string().nullable(),
  nodes: z.array(z.object({ html: z.string() })),
})

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  test('axe finds no serious violation on any page', async () => {
    const { page, close } = await watchedPage(browser, site.url, { colorScheme, bypassCSP: true })
    // Swagger UI is its authors' work; everything around it is looked at.
    for (const path of pagePaths().filter((candidate) => candidate !== '/docs/try')) {
      await page.goto(`${site.url}${path}`)
      await page.evaluate(axeSource)
      const found: unknown = await page.evaluate('axe.run().then(({ violations }) => violations)')
      const serious = z
        .array(violation)
        .parse(found)
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(serious, path).toEqual([])
    }
    await close()
  })
})

describe('the home page', () => {
  test('transfers at most 60 KB including assets', async () => {
    const { page, transferred, close } = await watchedPage(browser, site.url)
    await page.goto(site.url, { waitUntil: 'networkidle' })
    const bytes = await transferred()
    expect(bytes).toBeGreaterThan(3000)
    expect(bytes).toBeLessThanOrEqual(60_000)
    await close()
  })

  test('has no layout shift', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.addInitScript(() => {
      Object.assign(globalThis, { shift: 0 })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          Object.assign(globalThis, {
            shift: Number(Reflect.get(globalThis, 'shift')) + Number(Reflect.get(entry, 'value')),
          })
        }
      }).observe({ type: 'layout-shift', buffered: true })
    })
    await page.goto(site.url, { waitUntil: 'networkidle' })
    expect(await page.evaluate('shift')).toBe(0)
    await close()
  })

  test('shows all rails and can be filtered without JavaScript', async () => {
    const { page, close } = await watchedPage(browser, site.url, { javaScriptEnabled: false })
    await page.goto(site.url)
    const rows = page.locator('#rails tbody tr')
    expect(await rows.count()).toBe(4)
    expect(await page.locator('body').innerText()).toContain('carried over, 2 days old')
    await page.locator('#filter-status').selectOption('dormant')
    expect(await rows.filter({ visible: true }).allInnerTexts()).toEqual([
      expect.stringContaining('Rail gamma'),
    ])
    await close()
  })

  test('filters by status, chain and category, counts the rows, and keeps the selection in the address', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.goto(site.url)
    const visible = page.locator('#rails tbody tr').filter({ visible: true })
    await page.getByLabel('Status').selectOption('paying')
    expect(await visible.count()).toBe(2)
    expect(await page.locator('.filters output').innerText()).toBe('2 of 4 rails')
    await page.getByLabel('Status').selectOption('')
    await page.getByLabel('Chain').selectOption('off-chain')
    expect(await visible.count()).toBe(1)
    await page.getByLabel('Category').selectOption('earning')
    expect(await visible.count()).toBe(0)
    await page.goto(`${site.url}/?status=dormant`)
    expect(await visible.count()).toBe(1)
    await close()
  })

  test('sorts by a header in both directions with unknown last, and sets aria-sort', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.goto(site.url)
    const names = () => page.locator('#rails tbody th a').allInnerTexts()
    const header = page.getByRole('columnheader', { name: 'Volume USDC' })
    await header.getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBe('descending')
    expect((await names()).at(-1)).toContain('HYPERLINK')
    await header.getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBe('ascending')
    expect((await names())[0]).toBe('Rail gamma')
    expect((await names()).at(-1)).toContain('HYPERLINK')
    await page.locator('#rails th', { hasText: 'Rail' }).first().getByRole('button').click()
    expect(await header.getAttribute('aria-sort')).toBeNull()
    expect((await names()).at(-1)).toBe('Rail gamma')
    await close()
  })
})

describe('the keyboard alone', () => {
  test.each(['/', '/rails/alpha', '/receipts', '/docs/reference'])(
    'reaches every control on %s',
    async (path) => {
      const { page, close } = await watchedPage(browser, site.url)
      await page.goto(`${site.url}${path}`, { waitUntil: 'networkidle' })
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content')
      const reached = await page.evaluate(
        () =>
          [
            ...document.querySelectorAll(
              'a[href], button:not(:disabled), select, input, summary, [tabindex="0"]',
            ),
          ].filter((element) => element.checkVisibility()).length,
      )
      const seen = new Set<string>()
      const nameOf = () =>
        page.evaluate(() => {
          const element = document.activeElement
          if (element === null || element === document.body) return null
          const outline = getComputedStyle(element).outlineStyle
          const all = [...document.querySelectorAll('*')]
          return `${all.indexOf(element)} ${outline === 'none' ? 'UNSEEN' : ''}`
        })
      for (let step = 0; step <= reached + 1; step += 1) {
        const name = await nameOf()
        if (name === null) break
        seen.add(name)
        await page.keyboard.press('Tab')
      }
      expect(seen.size).toBeGreaterThanOrEqual(reached)
      expect([...seen].filter((name) => name.endsWith('UNSEEN'))).toEqual([])
      await close()
    },
  )

  test('sorts a table and checks a signature', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.goto(`${site.url}/rails/alpha`)
    await page.getByRole('button', { name: 'Check the signature' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('.result[data-result=good]').waitFor()
    await page.goto(site.url)
    await page.locator('#rails th button').nth(2).focus()
    await page.keyboard.press('Space')
    expect(await page.locator('#rails th[aria-sort]').count()).toBe(1)
    await close()
  })
})

const checked = [
  ['/rails/alpha', '/api/v1/rails/alpha'],
  ['/pacts/12', '/api/v1/pacts/12'],
  ['/pacts/14', '/api/v1/pacts/14'],
  [`/receipts/rcp_${'ab'.repeat(32)}`, `/receipts/rcp_${'ab'.repeat(32)}.json`],
] as const

describe.each(checked)('the signature check on %s', (path, documentPath) => {
  test('shows hash, key and a good result for an unchanged document', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    await page.goto(`${site.url}${path}`)
    await page.getByRole('button', { name: 'Check the signature' }).click()
    const result = page.locator('.result[data-result]')
    await result.waitFor()
    const entry = site.published.manifest.documents.find(
      (candidate) => candidate.path === documentPath,
    )
    expect(await result.getAttribute('data-result')).toBe('good')
    expect(await result.innerText()).toContain(entry?.sha256)
    expect(await result.innerText()).toContain(entry?.kid)
    expect(problems).toEqual([])
    await close()
  })

  test('reports a document with one byte changed in transit', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.route(`**${documentPath}`, async (route) => {
      const answer = await route.fetch()
      const body = await answer.body()
      body[body.length - 3] = (body[body.length - 3] ?? 0) ^ 1
      await route.fulfill({ response: answer, body })
    })
    await page.goto(`${site.url}${path}`)
    await page.getByRole('button', { name: 'Check the signature' }).click()
    const result = page.locator('.result[data-result]')
    await result.waitFor()
    expect(await result.getAttribute('data-result')).toBe('bad')
    expect(await result.innerText()).toContain(
      'NOT GOOD. The signature does not match these bytes.',
    )
    await close()
  })
})

describe('the signature check', () => {
  test('rejects a document without a signature or with an unknown key', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.route('**/snapshot.json', (route) => route.fulfill({ json: { documents: [] } }))
    const answers = [
      ['x-signature', 'has no signature'],
      ['x-signature-key', 'not among the published keys'],
    ] as const
    for (const [header, says] of answers) {
      await page.route('**/api/v1/rails/alpha', async (route) => {
        const answer = await route.fetch()
        await route.fulfill({ response: answer, headers: { ...answer.headers(), [header]: '' } })
      })
      await page.goto(`${site.url}/rails/alpha`)
      await page.getByRole('button', { name: 'Check the signature' }).click()
      const result = page.locator('.result[data-result=bad]')
      await result.waitFor()
      expect(await result.innerText()).toContain(says)
      await page.unroute('**/api/v1/rails/alpha')
    }
    await close()
  })

  test('uses the signature from the manifest if the response has no signature headers', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    let flip = 0
    await page.route('**/api/v1/rails/alpha', async (route) => {
      const answer = await route.fetch()
      const body = await answer.body()
      body[body.length - 3] = (body[body.length - 3] ?? 0) ^ flip
      const { 'x-signature': _, 'x-signature-key': _key, ...headers } = answer.headers()
      await route.fulfill({ response: answer, headers, body })
    })
    await page.goto(`${site.url}/rails/alpha`)
    const button = page.getByRole('button', { name: 'Check the signature' })
    await button.click()
    const good = page.locator('.result[data-result=good]')
    await good.waitFor()
    expect(await good.innerText()).toContain('Signature (manifest)')
    flip = 1
    await button.click()
    await page.locator('.result[data-result=bad]').waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test('works in a browser without Ed25519', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    await page.addInitScript(() => {
      const { subtle } = globalThis.crypto
      const refuse = () => Promise.reject(new DOMException('unknown', 'NotSupportedError'))
      Object.defineProperty(subtle, 'importKey', { value: refuse })
    })
    await page.goto(`${site.url}/rails/alpha`)
    await page.getByRole('button', { name: 'Check the signature' }).click()
    await page.locator('.result[data-result=good]').waitFor()
    expect(problems).toEqual([])
    await close()
  })
})

describe('the playground', () => {
  test('sends a request to this site and shows the response', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    await page.goto(`${site.url}/docs/try`, { waitUntil: 'networkidle' })
    const operation = page.locator('#operations-Rails-listRails')
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    const live = operation.locator('.live-responses-table .response-col_status').last()
    await expect.poll(() => live.innerText()).toContain('200')
    expect(problems).toEqual([])
    await close()
  })
})
