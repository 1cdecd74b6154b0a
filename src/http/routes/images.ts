/** Pictures of pages, drawn from the published documents in memory. */
import type { z } from 'zod'

import { ApiError } from '../../contract/errors.ts'
import { pathOf } from '../../contract/routes.ts'
import { deskFeed } from '../../contract/schemas/desk.ts'
import { flagList } from '../../contract/schemas/flag.ts'
import { cardFormat, cardPages } from '../../contract/schemas/image.ts'
import { opportunityList } from '../../contract/schemas/opportunity.ts'
import { pactList } from '../../contract/schemas/pact.ts'
import { railHistory, railList } from '../../contract/schemas/rail.ts'
import { stats } from '../../contract/schemas/stats.ts'
import { leaderboard } from '../../contract/schemas/worker.ts'
import { ogCard } from '../../core/og-card.ts'
import type { Card } from '../../core/og-card.ts'
import {
  articleCard,
  deskCard,
  flagsCard,
  homeCard,
  leaderboardCard,
  opportunitiesCard,
  pactsCard,
  railCard,
} from '../../core/page-cards.ts'
import { createByteLru } from '../byte-lru.ts'
import { nothingServed } from '../document-store.ts'
import type { DocumentStore } from '../document-store.ts'
import { read } from '../handlers.ts'
import { readPublished } from '../live.ts'
import { createRasterizer } from '../rasterizer.ts'

type PublishedDocuments = Pick<DocumentStore, 'get' | 'state'>

export function imageHandlers(store: PublishedDocuments) {
  const pictures = createPictures(store)
  return {
    getCard: read(
      async ({ query }) => {
        const picture = pictures(query['page'] ?? '/')
        const headers = { 'Content-Security-Policy': imagePolicy }
        if (cardFormat.parse(query['format'] ?? 'svg') === 'svg')
          return { text: picture.svg, headers }
        return { bytes: await picture.png(), contentType: 'image/png', headers }
      },
      // Nobody is to sign, or to pay, for a page that there is not.
      ({ query }) => {
        pictures(query['page'] ?? '/')
      },
    ),
  }
}

interface Picture {
  readonly svg: string
  readonly png: () => Promise<Uint8Array<ArrayBuffer>>
}

/** Where the picture is opened by itself, nothing in it may run or load. */
const imagePolicy = "default-src 'none'; sandbox"

/** About 180 pictures. */
const MAX_PNG_BYTES = 16 * 2 ** 20

type Rails = z.infer<typeof railList>['rails']

interface DrawnSet {
  readonly set: string
  /** SVG by page; there are as many as there are pages. */
  readonly drawings: Map<string, string>
  rails: Rails | null
}

/**
 * Pictures by page: drawn once for each published set, and made a PNG again only where the drawing is another one.
 */
function createPictures(store: PublishedDocuments): (page: string) => Picture {
  let drawn: DrawnSet | null = null
  const pngOf = createByteLru(createRasterizer(), MAX_PNG_BYTES)
  return (page) => {
    const { manifest } = store.state()
    if (manifest === null) throw new ApiError('unavailable', nothingServed(store))
    if (drawn?.set !== manifest.set_sha256) {
      drawn = { set: manifest.set_sha256, drawings: new Map(), rails: null }
    }
    const current = drawn
    let svg = current.drawings.get(page)
    if (svg === undefined) {
      const rails = () => (current.rails ??= readPublished(store, 'listRails', railList).rails)
      svg = ogCard(cardOrThrow(page, store, rails))
      current.drawings.set(page, svg)
    }
    const drawing = svg
    return { svg, png: async () => await pngOf(drawing) }
  }
}

function cardOrThrow(page: string, store: PublishedDocuments, rails: () => Rails): Card {
  const card = cardOf(page, store, rails)
  if (card !== null) return card
  const message = `is no page of the ledger; pages: ${cardPages.join(', ')}`
  throw new ApiError('invalid_input', undefined, { issues: [{ path: 'page', message }] })
}

/** Null where there is no such page. */
function cardOf(page: string, store: PublishedDocuments, rails: () => Rails): Card | null {
  switch (page) {
    case '/':
      return homeCard(readPublished(store, 'getStatsDaily', stats), rails())
    case '/opportunities':
      return opportunitiesCard(
        readPublished(store, 'listOpportunities', opportunityList).opportunities,
      )
    case '/honesty':
      return flagsCard(readPublished(store, 'listHonestyFlags', flagList).flags, rails())
    case '/leaderboard': {
      const board = readPublished(store, 'getLeaderboard', leaderboard)
      return leaderboardCard(board.leaderboard, board.as_of ?? board.computed_at)
    }
    case '/pacts':
      return pactsCard(readPublished(store, 'listPacts', pactList))
    case '/desk':
      return deskCard(readPublished(store, 'getDeskFeed', deskFeed).articles)
    default:
      return page.startsWith('/rails/')
        ? railOf(page.slice('/rails/'.length), rails(), store)
        : articleOf(page.slice('/desk/'.length), store)
  }
}

function railOf(name: string, rails: Rails, store: PublishedDocuments): Card | null {
  const rail = rails.find((candidate) => candidate.rail === name)
  if (rail === undefined) return null
  const history = store.get(pathOf('getRailHistory', { name }))
  if (history === undefined) return railCard(rail, [])
  const { polls } = railHistory.parse(JSON.parse(history.variants.identity.body.toString('utf8')))
  return railCard(rail, polls)
}

function articleOf(slug: string, store: PublishedDocuments): Card | null {
  const { articles } = readPublished(store, 'getDeskFeed', deskFeed)
  const article = articles.find((candidate) => candidate.slug === slug)
  return article === undefined ? null : articleCard(article)
}
