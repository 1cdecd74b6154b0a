/** Atom (RFC 4287) and JSON Feed 1.1 of articles, status changes, honesty flags and releases. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { isoTime } from '../../src/core/time.ts'
import { xmlText } from '../../src/core/xml-text.ts'
import { disputePath } from '../../src/pages/paths.ts'
import { byDate } from '../desk/ranking.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { plainJson, unarchived } from './document.ts'

interface Feed {
  /** For example, `desk` creates `/feeds/desk.atom` and `/feeds/desk.json`. */
  readonly name: string
  readonly title: string
  readonly page: string
  readonly items: readonly Item[]
}

/** An item of JSON Feed. */
interface Item {
  /** Permanent and unique. */
  readonly id: string
  readonly url: string
  readonly title: string
  readonly content_text: string
  readonly date_published: string
  readonly date_modified: string
}

const maxItems = 100
const maxAgeSeconds = 300

export function* feedDocuments(
  world: Pick<
    World,
    | 'articles'
    | 'changelog'
    | 'closedFlags'
    | 'disputes'
    | 'events'
    | 'openFlags'
    | 'signingKeys'
    | 'site'
  >,
): Generator<PublicDocument> {
  const all = [deskFeed, transitionFeed, flagFeed, disputeFeed, changeFeed]
  for (const feed of all.map((feedOf) => newestOf(feedOf(world)))) {
    const atomType = 'application/atom+xml; charset=utf-8'
    yield unarchived(feedPath(feed, 'atom'), atomType, maxAgeSeconds, { text: atom(feed, world) })
    const json = plainJson(jsonFeed(feed, world))
    yield unarchived(feedPath(feed, 'json'), 'application/feed+json', maxAgeSeconds, json)
  }
}

function newestOf(feed: Feed): Feed {
  return { ...feed, items: feed.items.slice(0, maxItems) }
}

function feedPath({ name }: Feed, ending: 'atom' | 'json'): string {
  return `/feeds/${name}.${ending}`
}

function deskFeed({ articles, site }: Pick<World, 'articles' | 'site'>): Feed {
  return {
    name: 'desk',
    title: 'Agent Income Ledger: the desk',
    page: '/desk',
    items: articles.toSorted(byDate).map(({ slug, title, date, excerpt }) => {
      const url = `${site.url}/desk/${slug}`
      return { id: url, url, title, content_text: excerpt, ...datedAt(`${date}T00:00:00.000Z`) }
    }),
  }
}

function transitionFeed({ events, site }: Pick<World, 'events' | 'site'>): Feed {
  const transitions = events.filter(({ kind }) => kind === 'rail_transition')
  return {
    name: 'transitions',
    title: 'Agent Income Ledger: changes of status',
    page: '/',
    items: transitions
      .toSorted((a, b) => b.seq - a.seq)
      .map(({ rail, seq, title, createdAtMs }) => {
        const url = rail === null ? `${site.url}/` : `${site.url}/rails/${rail}#status`
        const id = `${site.url}/feeds/transitions.atom#${seq}`
        return { id, url, title, content_text: title, ...datedAt(isoTime(createdAtMs)) }
      }),
  }
}

function flagFeed(world: Pick<World, 'closedFlags' | 'openFlags' | 'site'>): Feed {
  return {
    name: 'flags',
    title: 'Agent Income Ledger: honesty flags',
    page: '/honesty',
    items: [...world.openFlags, ...world.closedFlags]
      .map((flag) => flagItem(flag, world.site.url))
      .toSorted(byChange),
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
    content_text: [flag.severity, flag.kind, ...numbers].join('; '),
    date_published: flag.opened_at,
    date_modified: closed ?? flag.opened_at,
  }
}

function disputeFeed({ disputes, site }: Pick<World, 'disputes' | 'site'>): Feed {
  return {
    name: 'disputes',
    title: 'Agent Income Ledger: disputes',
    page: '/disputes',
    items: disputes.newest
      .map(({ dispute_id: id, state, claim, opened_at, updated_at }) => ({
        id: `${site.url}${disputePath(id)}`,
        url: `${site.url}${disputePath(id)}`,
        title: `Dispute ${id}: ${state}`,
        content_text: `Claim of the disputer: ${claim}`,
        date_published: opened_at,
        date_modified: updated_at,
      }))
      .toSorted(byChange),
  }
}

const byChange = (a: Item, b: Item) => (a.date_modified < b.date_modified ? 1 : -1)

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
    items: sections.map(({ version, date, lines }) => ({
      id: `${site.url}/changelog#${version}`,
      url: `${site.url}/changelog`,
      title: `Version ${version}`,
      content_text: lines.join(' ').replaceAll(/\s+/g, ' ').trim(),
      ...datedAt(`${date}T00:00:00.000Z`),
    })),
  }
}

function datedAt(time: string): Pick<Item, 'date_published' | 'date_modified'> {
  return { date_published: time, date_modified: time }
}

/** The time of the newest entry; for an empty feed the time when the ledger made its first key. */
function updatedOf({ items }: Feed, { signingKeys: { keys } }: Pick<World, 'signingKeys'>): string {
  const began = keys.at(-1)?.created_at ?? isoTime(0)
  return items.reduce(
    (last, { date_modified: at }) => (at > last ? at : last),
    items.length === 0 ? began : '',
  )
}

function atom(feed: Feed, world: Pick<World, 'signingKeys' | 'site'>): string {
  const { site } = world
  const entries = feed.items.map(
    (item) => `<entry>
<id>${xmlText(item.id)}</id>
<title>${xmlText(item.title)}</title>
<link rel="alternate" type="text/html" href="${xmlText(item.url)}"/>
<published>${item.date_published}</published>
<updated>${item.date_modified}</updated>
<summary>${xmlText(item.content_text)}</summary>
</entry>
`,
  )
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${xmlText(`${site.url}${feedPath(feed, 'atom')}`)}</id>
<title>${xmlText(feed.title)}</title>
<updated>${updatedOf(feed, world)}</updated>
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
    items: feed.items,
  }
}
