/** Atom (RFC 4287) and JSON Feed 1.1 of articles, status changes, honesty flags and releases. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { isoTime } from '../../src/core/time.ts'
import { xmlText } from '../../src/core/xml-text.ts'
import { byDate } from '../desk/ranking.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { LedgerEvent, World } from '../world/world.ts'
import { plainJson, unarchived } from './document.ts'

interface Feed {
  /** For example, `desk` creates `/feeds/desk.atom` and `/feeds/desk.json`. */
  readonly name: string
  readonly title: string
  readonly page: string
  readonly items: readonly Item[]
}

interface Item {
  /** Permanent and unique. */
  readonly id: string
  readonly url: string
  readonly title: string
  readonly summary: string
  readonly published: string
  readonly updated: string
}

const maxItems = 100
const maxAgeSeconds = 300

export function* feedDocuments(
  world: Pick<World, 'articles' | 'changelog' | 'closedFlags' | 'events' | 'openFlags' | 'site'>,
): Generator<PublicDocument> {
  const feeds = [deskFeed(world), transitionFeed(world), flagFeed(world), changeFeed(world)]
  for (const feed of feeds) {
    const atomType = 'application/atom+xml; charset=utf-8'
    yield unarchived(feedPath(feed, 'atom'), atomType, maxAgeSeconds, { text: atom(feed, world) })
    const json = plainJson(jsonFeed(feed, world))
    yield unarchived(feedPath(feed, 'json'), 'application/feed+json', maxAgeSeconds, json)
  }
}

function feedPath({ name }: Feed, ending: 'atom' | 'json'): string {
  return `/feeds/${name}.${ending}`
}

function deskFeed({ articles, site }: Pick<World, 'articles' | 'site'>): Feed {
  return {
    name: 'desk',
    title: 'Agent Income Ledger: the desk',
    page: '/desk',
    items: articles
      .toSorted(byDate)
      .slice(0, maxItems)
      .map(({ slug, title, date, excerpt }) => {
        const url = `${site.url}/desk/${slug}`
        const published = `${date}T00:00:00.000Z`
        return { id: url, url, title, summary: excerpt, published, updated: published }
      }),
  }
}

function transitionFeed({ events, site }: Pick<World, 'events' | 'site'>): Feed {
  const transitions = events.filter(({ kind }) => kind === 'rail_transition')
  return {
    name: 'transitions',
    title: 'Agent Income Ledger: changes of status',
    page: '/',
    items: newest(transitions).map((event) => {
      const at = isoTime(event.createdAtMs)
      const url = event.rail === null ? `${site.url}/` : `${site.url}/rails/${event.rail}#status`
      const id = `${site.url}/feeds/transitions.atom#${event.seq}`
      return { id, url, title: event.title, summary: event.title, published: at, updated: at }
    }),
  }
}

function newest(events: readonly LedgerEvent[]): LedgerEvent[] {
  return events.toSorted((a, b) => b.seq - a.seq).slice(0, maxItems)
}

function flagFeed({
  openFlags,
  closedFlags,
  site,
}: Pick<World, 'closedFlags' | 'openFlags' | 'site'>): Feed {
  return {
    name: 'flags',
    title: 'Agent Income Ledger: honesty flags',
    page: '/honesty',
    items: [...openFlags, ...closedFlags]
      .map((flag) => flagItem(flag, site.url))
      .toSorted((a, b) => (a.updated < b.updated ? 1 : -1))
      .slice(0, maxItems),
  }
}

function flagItem(flag: Flag, siteUrl: string): Item {
  const url = `${siteUrl}/honesty#${flag.id}`
  const closed = flag.closed_at
  const numbers = Object.entries(flag.evidence).map(
    ([name, value]) => `${name}: ${value ?? 'unknown'}`,
  )
  return {
    id: url,
    url,
    title: closed === undefined ? flag.title : `Closed: ${flag.title}`,
    summary: [flag.severity, flag.kind, ...numbers].join('; '),
    published: flag.opened_at,
    updated: closed ?? flag.opened_at,
  }
}

const release = /^## \[([^\]]+)\] - (\d{4}-\d{2}-\d{2})$/

/** Contains released versions only, since an unreleased version has no date and may change. */
function changeFeed({ changelog, site }: Pick<World, 'changelog' | 'site'>): Feed {
  const sections = (changelog ?? '').split(/^(?=## )/m).flatMap((section) => {
    const [heading = '', ...lines] = section.trim().split('\n')
    const [, version, date] = release.exec(heading) ?? []
    return version === undefined || date === undefined ? [] : [{ version, date, lines }]
  })
  return {
    name: 'changes',
    title: 'Agent Income Ledger: changes of interface and service',
    page: '/changelog',
    items: sections.slice(0, maxItems).map(({ version, date, lines }) => {
      const at = `${date}T00:00:00.000Z`
      return {
        id: `${site.url}/changelog#${version}`,
        url: `${site.url}/changelog`,
        title: `Version ${version}`,
        summary: lines.join(' ').replaceAll(/\s+/g, ' ').trim(),
        published: at,
        updated: at,
      }
    }),
  }
}

/** The time of the newest entry; the Unix epoch for an empty feed. */
function updatedOf({ items }: Feed): string {
  return items.map(({ updated }) => updated).reduce((a, b) => (a > b ? a : b), isoTime(0))
}

function atom(feed: Feed, { site }: Pick<World, 'site'>): string {
  const entries = feed.items.map(
    (item) => `<entry>
<id>${xmlText(item.id)}</id>
<title>${xmlText(item.title)}</title>
<link rel="alternate" type="text/html" href="${xmlText(item.url)}"/>
<published>${item.published}</published>
<updated>${item.updated}</updated>
<summary>${xmlText(item.summary)}</summary>
</entry>
`,
  )
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${xmlText(`${site.url}${feedPath(feed, 'atom')}`)}</id>
<title>${xmlText(feed.title)}</title>
<updated>${updatedOf(feed)}</updated>
<author><name>Agent Income Ledger</name></author>
<link rel="self" type="application/atom+xml" href="${xmlText(`${site.url}${feedPath(feed, 'atom')}`)}"/>
<link rel="alternate" type="text/html" href="${xmlText(`${site.url}${feed.page}`)}"/>
${entries.join('')}</feed>
`
}

function jsonFeed(feed: Feed, { site }: Pick<World, 'site'>) {
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title: feed.title,
    home_page_url: `${site.url}${feed.page}`,
    feed_url: `${site.url}${feedPath(feed, 'json')}`,
    language: 'en',
    items: feed.items.map((item) => ({
      id: item.id,
      url: item.url,
      title: item.title,
      content_text: item.summary,
      date_published: item.published,
      date_modified: item.updated,
    })),
  }
}
