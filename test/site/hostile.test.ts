import { readFileSync } from 'node:fs'

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { openBrowser, watchedPage } from './browser.ts'
import { startSite } from './site-server.ts'
import type { SiteServer } from './site-server.ts'
import { hostileWorld } from './worlds.ts'

const blns = z
  .array(z.string())
  .parse(
    JSON.parse(
      readFileSync(new URL('../vectors/naughty-strings/blns.json', import.meta.url), 'utf8'),
    ),
  )
const markup = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  '](javascript:alert(3)) [x](javascript:alert(4))',
  '</title></script><svg onload=alert(5)>',
  "'; alert(6); //",
  '`<b onclick=alert(7)>`',
  '![x](https://outside.example/pixel.png)',
  '=cmd|/c calc!A0',
]
/** All of the list on pages of lists; the pages of single things show a sample, since there is one for each. */
const strings = [...markup, ...blns.filter((text) => text.trim() !== '')]

let site: SiteServer
let browser: Browser

beforeAll(async () => {
  site = await startSite((url) => hostileWorld(url, strings))
  browser = await openBrowser()
})

afterAll(async () => {
  await browser.close()
  await site.stop()
})

const lists = [
  '/',
  '/honesty',
  '/desk',
  '/skills',
  '/leaderboard',
  '/workers',
  '/receipts',
  '/jobs',
  '/pacts',
  '/status',
  '/changelog',
  '/opportunities',
]
const singles = [...strings.keys()].filter((index) => index < markup.length || index % 60 === 0)

describe('hostile names and notes', () => {
  test('run no script on any page', async () => {
    const { page, problems, close } = await watchedPage(browser, site.url)
    const hex = (index: number) => index.toString(16).padStart(64, '0')
    const paths = [
      ...lists,
      ...singles.flatMap((index) => [
        `/rails/rail-${index}`,
        `/workers/${hex(index)}`,
        `/receipts/rcp_${hex(index)}`,
        `/pacts/1${index}`,
        `/pacts/2${index}`,
        `/desk/article-${index}`,
      ]),
    ]
    const allowed = new Set(['/assets/site.js'])
    for (const path of paths) {
      await page.goto(`${site.url}${path}`, { waitUntil: 'networkidle' })
      const found = await page.evaluate(() => ({
        scripts: [...document.scripts].map((script) => new URL(script.src, location.href).pathname),
        handlers: [...document.querySelectorAll('*')].flatMap((element) =>
          element.getAttributeNames().filter((name) => name.startsWith('on') || name === 'style'),
        ),
        foreign: document.querySelectorAll(
          'iframe, object, embed, base, img[src^="http"], [href^="javascript" i]',
        ).length,
      }))
      expect(
        found.scripts.filter((script) => !allowed.has(script)),
        path,
      ).toEqual([])
      expect(found.handlers, path).toEqual([])
      expect(found.foreign, path).toBe(0)
    }
    expect(problems).toEqual([])
    await close()
  })

  test('are shown as text', async () => {
    const { page, close } = await watchedPage(browser, site.url, { javaScriptEnabled: false })
    await page.goto(`${site.url}/rails/rail-0`)
    expect(await page.locator('h1').innerText()).toBe('<script>alert(1)</script>')
    await close()
  })

  test('leave feeds well-formed', async () => {
    const { page, close } = await watchedPage(browser, site.url)
    await page.goto(site.url)
    for (const path of [
      '/feeds/desk.atom',
      '/feeds/transitions.atom',
      '/feeds/flags.atom',
      '/sitemap.xml',
    ]) {
      const text = await (await fetch(`${site.url}${path}`)).text()
      const found = await page.evaluate((source) => {
        const parsed = new DOMParser().parseFromString(source, 'application/xml')
        return {
          error: parsed.querySelector('parsererror')?.textContent ?? null,
          names: [...new Set([...parsed.querySelectorAll('*')].map(({ localName }) => localName))],
        }
      }, text)
      expect(found.error, path).toBeNull()
      const known = [
        'feed',
        'id',
        'title',
        'updated',
        'author',
        'name',
        'link',
        'entry',
        'published',
        'summary',
        'urlset',
        'url',
        'loc',
      ]
      expect(
        found.names.filter((name) => !known.includes(name)),
        path,
      ).toEqual([])
    }
    await close()
  })

  test('are neither formulas in CSV nor markup in Markdown', async () => {
    const csv = await (await fetch(`${site.url}/api/v1/rails.csv`)).text()
    expect(csv).toContain(`'=cmd|/c calc!A0`)
    expect(
      csv.split('\r\n').filter((line) => /,[=+@]/.test(line.replace(/"(?:[^"]|"")*"/g, ''))),
    ).toEqual([])
    const md = await (await fetch(`${site.url}/workers.md`)).text()
    expect(md).not.toMatch(/(?<!\\)\]\(javascript:/)
    expect(md).not.toMatch(/(?<!\\)<(?:script|img|svg)/)
  })
})
