/** Atom (RFC 4287) and JSON Feed 1.1 feeds of articles, rails, flags, disputes, releases, receipts, jobs and pacts. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { isoTime } from '../../src/core/time.ts'
import { xmlText } from '../../src/core/xml-text.ts'
import { disputePath, jobPath, pactPath, railPath, receiptPath } from '../../src/pages/paths.ts'
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

export const feedParts = [
  'articles',
  'changelog',
  'closedFlags',
  'disputes',
  'events',
  'openFlags',
  'rails',
  'signingKeys',
  'site',
] as const satisfies readonly (keyof World)[]

export function* feedDocuments(
  world: Pick<World, (typeof feedParts)[number]>,
): Generator<PublicDocument> {
  const all = [deskFeed, transitionFeed, flagFeed, disputeFeed, changeFeed]
  yield* documentsOf(
    all.map((feedOf) => feedOf(world)),
    world,
  )
  const events = world.events.filter(({ kind }) => kind === 'rail_transition')
  for (const { authored } of world.rails) {
    yield atomDocument(railFeed(authored, { ...world, events }), world)
  }
}

export const tradeFeedParts = [
  'community',
  'exchange',
  'pacts',
  'signingKeys',
  'site',
] as const satisfies readonly (keyof World)[]

export function tradeFeedDocuments(
  world: Pick<World, (typeof tradeFeedParts)[number]>,
): Iterable<PublicDocument> {
  return documentsOf([receiptFeed(world), jobFeed(world), pactFeed(world)], world)
}

type Publisher = Pick<World, 'signingKeys' | 'site'>

function* documentsOf(feeds: readonly Feed[], publisher: Publisher): Generator<PublicDocument> {
  for (const feed of feeds) {
    yield atomDocument(feed, publisher)
    const json = plainJson(jsonFeed(newestOf(feed), publisher))
    yield unarchived(feedPath(feed, 'json'), 'application/feed+json', maxAgeSeconds, json)
  }
}

function atomDocument(feed: Feed, publisher: Publisher): PublicDocument {
  const type = 'application/atom+xml; charset=utf-8'
  const text = atom(newestOf(feed), publisher)
  return unarchived(feedPath(feed, 'atom'), type, maxAgeSeconds, { text })
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

function transitionFeed(world: Pick<World, 'events' | 'site'>): Feed {
  return {
    name: 'transitions',
    title: 'Agent Income Ledger: status changes',
    page: '/',
    items: transitionItems(world, () => true),
  }
}

function transitionItems(
  { events, site }: Pick<World, 'events' | 'site'>,
  isOf: (rail: string | null) => boolean,
): Item[] {
  return events
    .filter(({ kind, rail }) => kind === 'rail_transition' && isOf(rail))
    .toSorted((a, b) => b.seq - a.seq)
    .map(({ rail, seq, title, createdAtMs }) => {
      const url = rail === null ? `${site.url}/` : `${site.url}${railPath(rail)}#status`
      const id = `${site.url}/feeds/transitions.atom#${seq}`
      return { id, url, title, content_text: title, ...datedAt(isoTime(createdAtMs)) }
    })
}

export const railFeedPath = (rail: string) => `/feeds/rails/${rail}.atom`

/** Status changes and flags of one rail. */
function railFeed(
  { rail, display_name: name }: { readonly rail: string; readonly display_name: string },
  world: Pick<World, 'closedFlags' | 'events' | 'openFlags' | 'site'>,
): Feed {
  const flags = [...world.openFlags, ...world.closedFlags].filter((flag) => flag.rail === rail)
  const items = flags.map((flag) => flagItem(flag, world.site.url))
  return {
    name: `rails/${rail}`,
    title: `Agent Income Ledger: ${name}`,
    page: railPath(rail),
    items: [...transitionItems(world, (of) => of === rail), ...items].toSorted(byChange),
  }
}

function receiptFeed({ community, site }: Pick<World, 'community' | 'site'>): Feed {
  return {
    name: 'receipts',
    title: 'Agent Income Ledger: receipts',
    page: '/receipts',
    items: community.receipts.map(({ receipt_id: id, amount_usdc: amount, rail, ...receipt }) => {
      const url = `${site.url}${receiptPath(id)}`
      const title = `Receipt of ${amount} USDC on ${rail}, ${receipt.verification}`
      const text = receipt.summary ?? `Paid to ${receipt.to_wallet}`
      return { id: url, url, title, content_text: text, ...datedAt(receipt.accepted_at) }
    }),
  }
}

function jobFeed({ exchange, site }: Pick<World, 'exchange' | 'site'>): Feed {
  return {
    name: 'jobs',
    title: 'Agent Income Ledger: jobs',
    page: '/jobs',
    items: exchange.jobs.map(({ id, status, title, description, budget_usdc: budget, ...job }) => {
      const url = `${site.url}${jobPath(id)}`
      const words = `Budget up to ${budget} USDC. ${description ?? ''}`.trim()
      const dates = { date_published: job.created_at, date_modified: job.updated_at }
      return { id: url, url, title: `${title ?? id}, ${status}`, content_text: words, ...dates }
    }),
  }
}

function pactFeed({ pacts, site }: Pick<World, 'pacts' | 'site'>): Feed {
  const urlOf = (id: string) => `${site.url}${pactPath(id)}`
  return {
    name: 'pacts',
    title: 'Agent Income Ledger: pacts',
    page: '/pacts',
    items: [
      ...pacts.settled.map(({ pact_id: id, amount_usdc: amount, settled_at: at }) => {
        const url = urlOf(id)
        const title = `Pact ${id}: settled`
        return { id: url, url, title, content_text: `${amount} USDC`, ...datedAt(at) }
      }),
      ...pacts.inFlight.map(({ pact_id: id, phase_status: phase, updated_at: at, ...pact }) => {
        const url = urlOf(id)
        const title = `Pact ${id}: ${phase}`
        return { id: url, url, title, content_text: pact.next_action, ...datedAt(at) }
      }),
    ].toSorted(byChange),
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

/** The time of the newest entry; for an empty feed the time when the ledger created its first key. */
function updatedOf({ items }: Feed, { signingKeys: { keys } }: Pick<World, 'signingKeys'>): string {
  const began = keys.at(-1)?.created_at ?? isoTime(0)
  return items.reduce(
    (last, { date_modified: at }) => (at > last ? at : last),
    items.length === 0 ? began : '',
  )
}

function atom(feed: Feed, world: Publisher): string {
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
