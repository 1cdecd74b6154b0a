/** Every page of the site: opens, links, fits and is accessible. */
import { describe, expect, test } from 'vitest'

import { routes } from '../../src/contract/routes.ts'
import { createRouteTable } from '../../src/http/route-table.ts'
import { seriousViolations, useBrowser } from './browser.ts'
import type { Visit } from './browser.ts'
import { useSite } from './site-server.ts'
import { fullWorld } from './worlds.ts'

const site = useSite((url) => fullWorld(url))
const visit = useBrowser(() => site.url)

function pagePaths(): string[] {
  const documents = site.published.manifest.documents
  return documents
    .filter(({ content_type: type }) => type.startsWith('text/html'))
    .map(({ path }) => path)
}

const tabs = 4

/** Checks several pages at a time, since a page that is idle for half a second needs no processor. */
async function onEachPage(
  paths: readonly string[],
  check: (visit: Visit, path: string) => Promise<void>,
  options: Parameters<typeof visit>[1] = {},
): Promise<void> {
  const queue = paths.values()
  const walk = async () => {
    const visited = await visit(null, options)
    for (const path of queue) await check(visited, path)
  }
  await Promise.all(Array.from({ length: tabs }, walk))
}

describe('every page', () => {
  test('every page opens without errors, policy violations or requests to other hosts', async () => {
    expect(pagePaths().length).toBeGreaterThan(30)
    await onEachPage(pagePaths(), async ({ page, problems }, path) => {
      await page.goto(path, { waitUntil: 'networkidle' })
      expect(await page.locator('h1').first().textContent(), path).not.toBe('')
      expect(await page.title(), path).toContain('Agent Income Ledger')
      expect(problems).toEqual([])
    })
  })

  test('every page has unique ids and links only to published documents, routes and existing anchors', async () => {
    const { page } = await visit()
    const published = new Set([...site.paths, '/snapshot.json', '/api/v1/health'])
    // A build derives this document from the changes since the last build; the first build has none.
    published.add('/diffs/latest.md')
    // A route with a handler has no document to open.
    const known = createRouteTable(routes)
    const anchors = new Map<string, Set<string>>()
    const wanted: { from: string; path: string; hash: string }[] = []
    for (const from of pagePaths()) {
      await page.goto(from)
      const { ids, links } = await page.evaluate(() => ({
        ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
        links: [...document.querySelectorAll('a[href], link[href]')].map(
          (element) => element.getAttribute('href') ?? '',
        ),
      }))
      anchors.set(from, new Set(ids))
      expect(ids, from).toHaveLength(new Set(ids).size)
      for (const href of links) {
        const url = new URL(href, `${site.url}${from}`)
        if (url.origin === site.url)
          wanted.push({ from, path: url.pathname, hash: url.hash.slice(1) })
      }
    }
    const dead = wanted.filter(({ path, hash }) => {
      // The service renders these pages on request; this server does not.
      if (['/match', '/compare'].includes(path) || path.startsWith('/view/')) return false
      if (!published.has(path)) return known(path)?.resource.isDocument !== false
      return hash !== '' && anchors.get(path)?.has(hash) === false
    })
    expect(wanted.length).toBeGreaterThan(1000)
    expect(dead).toEqual([])
  })

  test('every page fits a phone, where only tables and code scroll sideways', async () => {
    const { page } = await visit(null, {
      viewport: { width: 360, height: 780 },
    })
    for (const path of pagePaths()) {
      await page.goto(path)
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      expect(width, path).toBeLessThanOrEqual(360)
    }
  })

  test('every page has a Markdown form', () => {
    const published = new Set(site.paths)
    const missing = pagePaths().filter(
      (path) => !published.has(path === '/' ? '/index.md' : `${path}.md`),
    )
    expect(missing).toEqual([])
  })
})

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  test(`axe finds no serious violation on any page in ${colorScheme} mode`, async () => {
    const paths = pagePaths()
    const check = async ({ page }: Visit, path: string) => {
      await page.goto(path)
      expect(await seriousViolations(page), path).toEqual([])
    }
    await onEachPage(paths, check, { colorScheme, bypassCSP: true })
  })
})
