import { invalidField } from '../../actions/signed-body.ts'
import { ApiError } from '../../contract/errors.ts'
import { cardPages } from '../../contract/schemas/image.ts'
import { counted } from '../../core/number-text.ts'
import { parseWallet } from '../../core/wallet.ts'
import { receiptRows } from '../../db/receipts/receipts.ts'
import { findWorker } from '../../db/workers.ts'
import { workerBadge } from '../../pages/badge.ts'
import { ogCard } from '../../pages/og-card.ts'
import type { Card } from '../../pages/og-card.ts'
import {
  articleCard,
  deskCard,
  flagsCard,
  homeCard,
  leaderboardCard,
  opportunitiesCard,
  pactsCard,
  railCard,
} from '../../pages/page-cards.ts'
import type { Handlers } from '../handler-types.ts'
import { createPngRenderer } from '../png.ts'
import { oncePerSet } from '../published-documents.ts'
import type { PublishedDocuments } from '../published-documents.ts'

const headers = { 'Content-Security-Policy': "default-src 'none'; sandbox" }

export function imageHandlers(published: PublishedDocuments) {
  const svgsOfSet = oncePerSet(published, () => new Map<string, string>())
  const pngOf = createPngRenderer()
  const svgOf = (page: string): string => {
    const svgs = svgsOfSet()
    const svg = svgs.get(page) ?? ogCard(cardOrThrow(page, published))
    svgs.set(page, svg)
    return svg
  }
  return {
    async getCard({ query }) {
      const svg = svgOf(query.page ?? '/')
      if (query.format !== 'png') return { text: svg, headers }
      return { bytes: await pngOf(svg), contentType: 'image/png', headers }
    },
    async getWorkerBadge({ params }, { list }) {
      const { id, display } = parseWallet(params.wallet)
      const verified = receiptRows({ wallet: id, status: 'verified' })
      const [{ total, total_is_exact: isExact }, [newest], worker] = await list((db) =>
        Promise.all([
          verified.count(db),
          verified.read(db, { limit: 1, before: null }),
          findWorker(db, id),
        ]),
      )
      if (newest === undefined && worker === null) throw new ApiError('unknown_worker')
      const receipts = isExact === false ? `over ${total} receipts` : counted(total, 'receipt')
      const text = workerBadge(display, receipts, newest?.acceptedAt.slice(0, 10) ?? null)
      return { text, headers, cache: 'public, max-age=300' }
    },
  } satisfies Partial<Handlers>
}

function cardOrThrow(page: string, published: PublishedDocuments): Card {
  const card = cardOf(page, published)
  if (card !== null) return card
  const message = `is not a page of the ledger; pages: ${cardPages.join(', ')}`
  throw invalidField('page', message)
}

function cardOf(page: string, { read, find }: PublishedDocuments): Card | null {
  const { rails } = read('listRails')
  switch (page) {
    case '/':
      return homeCard(read('getStatsDaily'), rails)
    case '/opportunities':
      return opportunitiesCard(read('listOpportunities'), rails)
    case '/honesty':
      return flagsCard(read('listHonestyFlags').flags, rails)
    case '/leaderboard': {
      const { leaderboard, as_of: asOf, computed_at: computedAt } = read('getLeaderboard')
      return leaderboardCard(leaderboard, asOf ?? computedAt)
    }
    case '/pacts':
      return pactsCard(read('listPacts'))
    case '/desk':
      return deskCard(read('getDeskFeed').articles)
  }
  const [, folder, name = ''] = page.split('/')
  if (folder === 'rails') {
    const rail = rails.find((candidate) => candidate.rail === name)
    return rail === undefined ? null : railCard(rail, find('getRailHistory', { name })?.polls ?? [])
  }
  const article = read('getDeskFeed').articles.find(({ slug }) => slug === name)
  return article === undefined ? null : articleCard(article)
}
