/** Published feed readers read every feed that `/feeds` lists. */
import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { hostileWorld } from '../site/worlds.ts'
import { usePackages } from '../support/packages.ts'
import { siteOf, textAt } from '../support/site.ts'

const packages = usePackages('rss-parser@3.13.0', 'feedsmith@3.0.1')

const texts = ['<b>&amp;</b> "one" ]]> \\', 'Two: ž 中 😀 & <!--', "'three' </entry>"]
const changelog = `## [1.0.0] - 2026-11-01\n\n- ${texts.join(' ')}\n`
const documents = siteOf({ ...hostileWorld('https://ledger.test', texts), changelog })

const guide = readFileSync(new URL('../../data/docs/feeds.md', import.meta.url), 'utf8')
const names = [...guide.matchAll(/\(\/feeds\/(\w+)\.atom\)/g)].map(([, name = '']) => name)

const text = z.string()
const jsonEntry = z
  .object({
    id: text,
    url: text,
    title: text,
    content_text: text,
    date_published: text,
    date_modified: text,
  })
  .transform(({ url, content_text: summary, date_published: published, ...one }) => {
    return { id: one.id, link: url, title: one.title, summary, published }
  })
const jsonFeed = z.object({
  title: text,
  home_page_url: text,
  items: z.array(jsonEntry).default([]),
})

const rssEntry = z
  .object({ id: text, link: text, title: text, summary: text, isoDate: text })
  .transform(({ isoDate: published, ...one }) => ({ ...one, published }))
const rssParser = z.object({ title: text, link: text, items: z.array(rssEntry) })

const value = z.object({ value: text }).transform((one) => one.value)
const links = z.array(z.object({ href: text, rel: text }))
const linkOf = (all: z.infer<typeof links>) => all.find(({ rel }) => rel === 'alternate')?.href
const atomEntry = z
  .object({ id: text, links, title: value, summary: value, published: text })
  .transform(({ links: all, ...one }) => ({ ...one, link: linkOf(all) }))
const feedsmithAtom = z.object({
  format: z.literal('atom'),
  feed: z.object({ title: value, links, entries: z.array(atomEntry).default([]) }),
})
const feedsmithJson = z.object({ format: z.literal('json'), feed: jsonFeed })

const Parser = z.custom<new () => { parseString: (feed: string) => Promise<unknown> }>()
const feedsmith = z.object({ parseFeed: z.custom<(feed: string) => unknown>() })

test.each(names)(
  'rss-parser and feedsmith find the entries of /feeds/%s.json in both forms of the feed',
  async (name) => {
    const atom = textAt(`/feeds/${name}.atom`, documents)
    const json = textAt(`/feeds/${name}.json`, documents)
    const { title, home_page_url: link, items } = jsonFeed.parse(JSON.parse(json))
    expect(items.length === 0).toBe(name === 'disputes')

    const ReadRss = Parser.parse(packages.load('rss-parser'))
    expect(rssParser.parse(await new ReadRss().parseString(atom))).toEqual({ title, link, items })

    const { parseFeed } = feedsmith.parse(packages.load('feedsmith'))
    expect(feedsmithJson.parse(parseFeed(json)).feed.items).toEqual(items)
    const { feed } = feedsmithAtom.parse(parseFeed(atom))
    expect([feed.title, linkOf(feed.links), feed.entries]).toEqual([title, link, items])
  },
)

test('rss-parser and feedsmith read the feed of a rail', async () => {
  const atom = textAt('/feeds/rails/rail-0.atom', documents)
  const ReadRss = Parser.parse(packages.load('rss-parser'))
  const { items } = rssParser.parse(await new ReadRss().parseString(atom))
  expect(items.length).toBeGreaterThan(1)
  const { parseFeed } = feedsmith.parse(packages.load('feedsmith'))
  expect(feedsmithAtom.parse(parseFeed(atom)).feed.entries).toEqual(items)
})
