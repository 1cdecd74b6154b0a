/** Pictures of pages, drawn from the published documents in memory. */
import type { z } from 'zod'

import { ApiError } from '../../contract/errors.ts'
import { pathOf } from '../../contract/routes.ts'
import { deskFeed } from '../../contract/schemas/desk.ts'
import { flagList } from '../../contract/schemas/flag.ts'
import { cardPages } from '../../contract/schemas/image.ts'
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
import type { DocumentStore } from '../document-store.ts'
import { read } from '../handlers.ts'
import { readPublished } from '../live.ts'

type PublishedDocuments = Pick<DocumentStore, 'get' | 'state'>

export function imageHandlers(store: PublishedDocuments) {
  const picture = createPictures(store)
  return {
    getCard: read(
      ({ query }) =>
        Promise.resolve({
          text: picture(query['page'] ?? '/'),
          headers: { 'Content-Security-Policy': imagePolicy },
        }),
      // Nobody is to sign, or to pay, for a page that there is not.
      ({ query }) => {
        picture(query['page'] ?? '/')
      },
    ),
  }
}

/** Where the picture is opened by itself, nothing in it may run or load. */
const imagePolicy = "default-src 'none'; sandbox"

/** Pictures by page, each drawn once per published set; there are as many as there are pages. */
function createPictures(store: PublishedDocuments): (page: string) => string {
  let drawn: { readonly set: string; readonly pictures: Map<string, string> } | null = null
  return (page) => {
    const { manifest } = store.state()
    if (manifest === null) throw new ApiError('unavailable', 'Nothing has been published yet')
    if (drawn?.set !== manifest.set_sha256)
      drawn = { set: manifest.set_sha256, pictures: new Map() }
    const { pictures } = drawn
    const kept = pictures.get(page)
    if (kept !== undefined) return kept
    const card = cardOf(page, store)
    if (card === null) {
      const message = `is no page of the ledger; pages: ${cardPages.join(', ')}`
      throw new ApiError('invalid_input', undefined, { issues: [{ path: 'page', message }] })
    }
    const picture = ogCard(card)
    pictures.set(page, picture)
    return picture
  }
}

/** Null where there is no such page. */
function cardOf(page: string, store: PublishedDocuments): Card | null {
  const rails = () => readPublished(store, 'listRails', railList).rails
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

function railOf(
  name: string,
  rails: z.infer<typeof railList>['rails'],
  store: PublishedDocuments,
): Card | null {
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
