import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { readVectors } from '../vectors/read.ts'
import { useBrowser } from './browser.ts'
import { useSite } from './site-server.ts'
import { hostileWorld } from './worlds.ts'

const blns = readVectors('naughty-strings/blns.json', z.array(z.string()))
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
/** Pages of lists show all of them; a sample of the pages of single things is visited. */
const strings = [...markup, ...blns.filter((text) => text.trim() !== '')]

const site = useSite((url) => hostileWorld(url, strings))
const visit = useBrowser(() => site.url)

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
  test('hostile names and notes run no script on any page', async () => {
    const { page, problems } = await visit()
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
    const allowed = new Set(['/assets/site.js', '/assets/theme.js'])
    for (const path of paths) {
      await page.goto(path, { waitUntil: 'networkidle' })
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
  })

  test('hostile names are shown as text', async () => {
    const { page } = await visit('/rails/rail-0', { javaScriptEnabled: false })
    expect(await page.locator('h1').innerText()).toBe('<script>alert(1)</script>')
  })

  test('hostile names and notes leave feeds well-formed', async () => {
    const { page } = await visit('/')
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
  })

  test('hostile names are neither formulas in CSV nor markup in Markdown', async () => {
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
