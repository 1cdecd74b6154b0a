import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { deskDocuments } from '../../../builder/documents/desk.ts'
import type { World } from '../../../builder/world/world.ts'
import { deskFeed } from '../../../src/contract/schemas/desk.ts'
import { parseFrontMatter } from '../../../src/core/front-matter.ts'
import { smallWorld } from '../../support/world.ts'

type Viewed = readonly (readonly [slug: string, date: string, views: number])[]

function worldOf(viewed: Viewed): World {
  return smallWorld({
    articles: viewed.map(([slug, date]) => ({
      slug,
      title: slug,
      date,
      excerpt: 'An excerpt.',
      keywords: ['one'],
      body: 'Text.\n',
      charts: [],
    })),
    views24h: new Map(viewed.map(([slug, , views]) => [slug, views])),
  })
}

function documentsOf(world: World) {
  return new Map(deskDocuments()(world).map((document) => [document.path, document]))
}

function feed(viewed: Viewed) {
  const document = documentsOf(worldOf(viewed)).get('/api/v1/desk/feed.json')
  const json = document !== undefined && 'json' in document.body ? document.body.json : null
  return { feed: deskFeed.parse(json), archive: document?.archive }
}

const articlesOf = (...list: readonly (readonly [day: string, views: number])[]): Viewed =>
  list.map(([day, views], at) => [String.fromCodePoint(97 + at), `2026-11-${day}`, views])

test.each<readonly [string, Viewed, readonly string[]]>([
  [
    'puts articles above the median first, then the newest',
    articlesOf(['01', 9], ['05', 1], ['03', 2], ['02', 8], ['04', 3]),
    ['d*', 'a*', 'b', 'e', 'c'],
  ],
  [
    'uses the mean of the two middle counts for an even number of articles',
    articlesOf(['01', 4], ['02', 2], ['03', 3], ['04', 0]),
    ['c*', 'a*', 'd', 'b'],
  ],
  ['marks no article as hot without views', articlesOf(['01', 0], ['02', 0]), ['b', 'a']],
  [
    'marks no article as hot at the median itself',
    articlesOf(['01', 5], ['02', 5], ['03', 5]),
    ['c', 'b', 'a'],
  ],
  [
    'sorts by slug within a date',
    articlesOf(['01', 0], ['01', 0], ['01', 0]).toReversed(),
    ['a', 'b', 'c'],
  ],
])('the feed %s', (_rule, viewed, slugs) => {
  const { articles } = feed(viewed).feed
  expect(articles.map(({ slug, hot }) => (hot === true ? `${slug}*` : slug))).toEqual(slugs)
})

describe('the feed', () => {
  const viewed = [
    ['old', '2026-11-01', 5],
    ['new', '2026-11-09', 0],
    ['mid', '2026-11-05', 0],
  ] as const
  const built = feed(viewed)

  test('the feed has the content that the specification requires', () => {
    const { articles, ...envelope } = built.feed
    expect(envelope).toEqual({
      count: 3,
      cadence: 'weekly',
      docs: 'https://ledger.test/desk/SKILL.md',
      ranking: 'articles above the median of views_24h first, then newest date first',
      updated: '2026-11-09',
    })
    expect(articles[0]).toEqual({
      slug: 'old',
      title: 'old',
      date: '2026-11-01',
      url: 'https://ledger.test/desk/old.md',
      excerpt: 'An excerpt.',
      keywords: ['one'],
      views_24h: 5,
      hot: true,
    })
  })

  test('the feed has no hot field for an article that is not hot', () => {
    expect(built.feed.articles.slice(1).map((article) => Object.keys(article))).not.toContainEqual(
      expect.arrayContaining(['hot']),
    )
  })

  test('the feed is archived by date, without views', () => {
    const archived = z.object({ articles: z.array(z.looseObject({ slug: z.string() })) })
    const { articles } = archived.parse(built.archive)
    expect(articles.map(({ slug }) => slug)).toEqual(['new', 'mid', 'old'])
    expect(JSON.stringify(built.archive)).not.toMatch(/views_24h":|hot/)
  })
})

describe('an article', () => {
  const documents = documentsOf(smallWorld())
  const textOf = (path: string) => {
    const document = documents.get(path)
    return document !== undefined && 'text' in document.body ? document.body.text : ''
  }

  test('an article is Markdown with a front matter that can be read back', () => {
    expect(parseFrontMatter(textOf('/desk/first-words.md'))).toEqual({
      fields: {
        title: 'First "words" \\ and more',
        date: '2026-11-02',
        canonical_url: 'https://ledger.test/desk/first-words.md',
        keywords: ['ledger'],
      },
      body: 'A paragraph.\n',
    })
  })

  test('an article is published with its charts', () => {
    expect(textOf('/desk/second-words.md')).toContain('https://ledger.test/desk/second-words.svg')
    expect(textOf('/desk/second-words.svg')).toMatch(/^<svg /)
    expect(documents.get('/desk/second-words.svg')?.contentType).toBe('image/svg+xml')
  })
})
