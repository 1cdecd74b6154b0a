/** Atom (RFC 4287) and JSON Feed 1.1 feeds of articles, rails, flags, disputes, releases, receipts, jobs and pacts. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { isoTime } from '../../src/core/time.ts'
import { xmlText } from '../../src/core/xml-text.ts'
import { knownAmount } from '../../src/pages/evidence.ts'
import { disputePath, jobPath, pactPath, railPath, receiptPath } from '../../src/pages/paths.ts'
import { byDate } from '../desk/ranking.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { World } from '../world/world.ts'
import { plainJson, snapshotFamily, unarchived } from './document.ts'

interface Feed {
  /** For example, `desk` creates `/feeds/desk.atom` and `/feeds/desk.json`. */
  readonly name: string
  readonly title: string
  readonly page: string
  readonly items: readonly Item[]
}

interface Item {
  /** Permanent, and unique in this ledger. */
  readonly id: string
  readonly path: string
  readonly title: string
  readonly text: string
  readonly at: string
  readonly changedAt?: string | undefined
}

const maxItems = 100
const maxAgeSeconds = 300

export const feedDocuments = snapshotFamily(
  [
    'articles',
    'changelog',
    'closedFlags',
    'disputes',
    'events',
    'openFlags',
    'rails',
    'signingKeys',
    'site',
  ],
  function* (world) {
    const transitions = world.events.filter(({ kind }) => kind === 'rail_transition')
    const flags = [...world.openFlags, ...world.closedFlags]
    const feeds = [
      { name: 'desk', title: 'the desk', page: '/desk', items: articleItems(world) },
      {
        name: 'transitions',
        title: 'status changes',
        page: '/',
        items: transitionItems(transitions),
      },
      {
        name: 'flags',
        title: 'honesty flags',
        page: '/honesty',
        items: flags.map(flagItem).toSorted(byChange),
      },
      { name: 'disputes', title: 'disputes', page: '/disputes', items: disputeItems(world) },
      {
        name: 'changes',
        title: 'changes of interface and service',
        page: '/changelog',
        items: releaseItems(world),
      },
    ]
    yield* documentsOf(feeds, world)
    for (const { authored } of world.rails) {
      const { rail, display_name: title } = authored
      const items = [
        ...transitionItems(transitions.filter((event) => event.rail === rail)),
        ...flags.filter((flag) => flag.rail === rail).map(flagItem),
      ].toSorted(byChange)
      yield atomDocument({ name: `rails/${rail}`, title, page: railPath(rail), items }, world)
    }
  },
)

export const tradeFeedDocuments = snapshotFamily(
  ['community', 'exchange', 'pacts', 'signingKeys', 'site'],
  (world) =>
    documentsOf(
      [
        { name: 'receipts', title: 'receipts', page: '/receipts', items: receiptItems(world) },
        { name: 'jobs', title: 'jobs', page: '/jobs', items: jobItems(world) },
        { name: 'pacts', title: 'pacts', page: '/pacts', items: pactItems(world) },
      ],
      world,
    ),
)

type Publisher = Pick<World, 'signingKeys' | 'site'>

function* documentsOf(feeds: readonly Feed[], publisher: Publisher): Generator<PublicDocument> {
  for (const feed of feeds) {
    yield atomDocument(feed, publisher)
    const json = plainJson(jsonFeed(feed, publisher))
    yield unarchived(feedPath(feed, 'json'), 'application/feed+json', maxAgeSeconds, json)
  }
}

function atomDocument(feed: Feed, publisher: Publisher): PublicDocument {
  const type = 'application/atom+xml; charset=utf-8'
  const text = atom(feed, publisher)
  return unarchived(feedPath(feed, 'atom'), type, maxAgeSeconds, { text })
}

/** Names the ledger by its first key, which never changes, so that another address of the site changes no id. */
function urnOf(id: string, { signingKeys: { keys } }: Publisher): string {
  return `urn:agent-income-ledger:${keys.at(-1)?.kid ?? ''}:${id}`
}

/** The newest items, as in JSON Feed. */
function entriesOf({ items }: Feed, publisher: Publisher) {
  return items.slice(0, maxItems).map((item) => ({
    id: urnOf(item.id, publisher),
    url: `${publisher.site.url}${item.path}`,
    title: item.title,
    content_text: item.text,
    date_published: item.at,
    date_modified: changeOf(item),
  }))
}

function feedPath({ name }: Feed, ending: 'atom' | 'json'): string {
  return `/feeds/${name}.${ending}`
}

function articleItems({ articles }: Pick<World, 'articles'>): Item[] {
  return articles.toSorted(byDate).map(({ slug, title, date, excerpt: text }) => {
    return { id: `article:${slug}`, path: `/desk/${slug}`, title, text, at: startOf(date) }
  })
}

/** `transitions`: events of this kind. */
function transitionItems(transitions: World['events']): Item[] {
  return transitions
    .toSorted((a, b) => b.seq - a.seq)
    .map(({ rail, seq, title, createdAtMs }) => {
      const path = rail === null ? '/' : `${railPath(rail)}#status`
      return { id: `transition:${seq}`, path, title, text: title, at: isoTime(createdAtMs) }
    })
}

export const railFeedPath = (rail: string) => `/feeds/rails/${rail}.atom`

function receiptItems({ community }: Pick<World, 'community'>): Item[] {
  return community.receipts.map(({ receipt_id: id, amount_usdc: amount, rail, ...receipt }) => {
    const sum = knownAmount({ amount_usdc: amount, ...receipt }) ?? 'unknown'
    const title = `Receipt of ${sum} USDC on ${rail}, ${receipt.verification}`
    const text = receipt.summary ?? `Paid to ${receipt.to_wallet}`
    return { id: `receipt:${id}`, path: receiptPath(id), title, text, at: receipt.accepted_at }
  })
}

function jobItems({ exchange }: Pick<World, 'exchange'>): Item[] {
  return exchange.jobs.map(({ id, created_at: at, updated_at: changedAt, ...job }) => {
    const title = `${job.title ?? id}, ${job.status}`
    const text = `Budget up to ${job.budget_usdc} USDC. ${job.description ?? ''}`.trim()
    return { id: `job:${id}`, path: jobPath(id), title, text, at, changedAt }
  })
}

function pactItems({ pacts }: Pick<World, 'pacts'>): Item[] {
  const itemOf = (id: string, phase: string, text: string, at: string) => {
    return { id: `pact:${id}`, path: pactPath(id), title: `Pact ${id}: ${phase}`, text, at }
  }
  return [
    ...pacts.settled.map(({ pact_id: id, amount_usdc: amount, settled_at: at }) =>
      itemOf(id, 'settled', `${amount} USDC`, at),
    ),
    ...pacts.inFlight.map(({ pact_id: id, phase_status: phase, next_action: text, ...pact }) =>
      itemOf(id, phase, text, pact.updated_at),
    ),
  ].toSorted(byChange)
}

function flagItem(flag: Flag): Item {
  const closed = flag.closed_at
  const numbers = Object.entries(flag.evidence).map(
    ([name, value]) => `${name}: ${value ?? 'unknown'}`,
  )
  return {
    id: `flag:${flag.id}`,
    path: `/honesty#${flag.id}`,
    title: closed === undefined ? flag.title : `Closed: ${flag.title}`,
    text: [flag.severity, flag.kind, ...numbers].join('; '),
    at: flag.opened_at,
    changedAt: closed,
  }
}

function disputeItems({ disputes }: Pick<World, 'disputes'>): Item[] {
  return disputes.newest
    .slice(0, maxItems)
    .map(({ dispute_id: id, state, claim, opened_at: at, updated_at: changedAt }) => {
      const text = `Claim of the disputer: ${claim ?? 'withheld'}`
      const title = `Dispute ${id}: ${state}`
      return { id: `dispute:${id}`, path: disputePath(id), title, text, at, changedAt }
    })
    .toSorted(byChange)
}

const changeOf = ({ at, changedAt = at }: Item) => changedAt
const byChange = (a: Item, b: Item) => (changeOf(a) < changeOf(b) ? 1 : -1)
const startOf = (date: string) => `${date}T00:00:00.000Z`

const release = /^## \[([^\]]+)\] - (\d{4}-\d{2}-\d{2})$/

/** Contains released versions only, since an unreleased version has no date and may change. */
function releaseItems({ changelog }: Pick<World, 'changelog'>): Item[] {
  return (changelog ?? '').split(/^(?=## )/m).flatMap((section) => {
    const [heading = '', ...lines] = section.trim().split('\n')
    const [, version, date] = release.exec(heading) ?? []
    if (version === undefined || date === undefined) return []
    const text = lines.join(' ').replaceAll(/\s+/g, ' ').trim()
    const title = `Version ${version}`
    return [{ id: `version:${version}`, path: '/changelog', title, text, at: startOf(date) }]
  })
}

function atom(feed: Feed, world: Publisher): string {
  const { site, signingKeys } = world
  const newest = entriesOf(feed, world)
  // An empty feed began when the ledger created its first key.
  const began = signingKeys.keys.at(-1)?.created_at ?? isoTime(0)
  const updated =
    newest
      .map(({ date_modified: at }) => at)
      .toSorted()
      .at(-1) ?? began
  const entries = newest.map(
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
<id>${xmlText(urnOf(`feed:${feed.name}`, world))}</id>
<title>Agent Income Ledger: ${xmlText(feed.title)}</title>
<updated>${updated}</updated>
<author><name>Agent Income Ledger</name></author>
<link rel="self" type="application/atom+xml" href="${xmlText(`${site.url}${feedPath(feed, 'atom')}`)}"/>
<link rel="alternate" type="text/html" href="${xmlText(`${site.url}${feed.page}`)}"/>
${entries.join('')}</feed>
`
}

function jsonFeed(feed: Feed, publisher: Publisher) {
  const { site } = publisher
  return {
    version: 'https://jsonfeed.org/version/1.1',
    title: `Agent Income Ledger: ${feed.title}`,
    home_page_url: `${site.url}${feed.page}`,
    feed_url: `${site.url}${feedPath(feed, 'json')}`,
    language: 'en',
    items: entriesOf(feed, publisher),
  }
}
