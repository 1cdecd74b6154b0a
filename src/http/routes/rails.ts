import { unknownName } from '../../actions/reference.ts'
import { invalidField } from '../../actions/signed-body.ts'
import { ApiError } from '../../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../../core/cursor.ts'
import { matchRails } from '../../core/match-rails.ts'
import { parseUsdc, usdcOrNull } from '../../core/money.ts'
import { parseTime } from '../../core/time.ts'
import type { Handlers } from '../handler-types.ts'
import { hasValues, limitOf } from '../lists.ts'
import type { PublishedDocuments } from '../published-documents.ts'

const cache = 'public, max-age=60'

/** Answers the queries of published lists with entries of the published document. */
export function selectionHandlers({ manifest, read, find }: PublishedDocuments) {
  return {
    async listRails({ query }) {
      manifest()
      const published = read('listRails')
      const rails = published.rails.filter(hasValues(query))
      return { body: { ...published, count: rails.length, rails }, cache }
    },
    async listOpportunities({ query: { skill, chain, max_entry_usdc: maxEntry, limit } }) {
      manifest()
      const published = read('listOpportunities')
      const { skills } = read('listSkills')
      const slugs = skills.map(({ slug }) => slug)
      if (skill !== undefined && !slugs.includes(skill)) {
        throw invalidField('skill', unknownName('skill', skill, slugs))
      }
      const maxEntryMicroUsdc = maxEntry === undefined ? null : parseUsdc(maxEntry)
      const maxEntryUsdc = usdcOrNull(maxEntryMicroUsdc) ?? undefined
      const listed = { opportunities: published.opportunities, rails: [], skills }
      const { matches: fitting } = matchRails(listed, { skill, chain, maxEntryUsdc })
      const found = fitting.map(({ entry }) => entry)
      const opportunities = found.slice(0, limit === undefined ? undefined : Number(limit))
      const counts = { count: opportunities.length, total: found.length }
      return { body: { ...published, ...counts, opportunities }, cache }
    },
    async getRailHistory({ params, query: { limit, cursor, since } }) {
      manifest()
      const published = find('getRailHistory', params)
      if (published === null) throw new ApiError('unknown_rail')
      const beforeMs = cursor === undefined ? Infinity : decodeCursor('polls', cursor)
      if (beforeMs === null) throw new ApiError('bad_cursor')
      const afterMs = since === undefined ? 0 : (parseTime(since) ?? 0)
      const found = published.polls.filter(({ polled_at: at }) => {
        const atMs = Date.parse(at)
        return atMs > afterMs && atMs < beforeMs
      })
      const polls = limit === undefined ? found : found.slice(0, Number(limit))
      const last = polls.at(-1)
      const hasMore = polls.length < found.length && last !== undefined
      const next = hasMore ? { next_cursor: encodeCursor('polls', Date.parse(last.polled_at)) } : {}
      return { body: { ...published, count: polls.length, polls, ...next }, cache }
    },
    async getLeaderboard({ query }) {
      manifest()
      const published = read('getLeaderboard')
      const start = query.cursor === undefined ? 0 : decodeCursor('leaderboard', query.cursor)
      if (start === null) throw new ApiError('bad_cursor')
      const end = start + limitOf(query)
      const leaderboard = published.leaderboard.slice(start, end)
      const hasMore = published.leaderboard.length > end
      const next = hasMore ? { next_cursor: encodeCursor('leaderboard', end) } : {}
      return { body: { ...published, count: leaderboard.length, leaderboard, ...next }, cache }
    },
  } satisfies Partial<Handlers>
}
