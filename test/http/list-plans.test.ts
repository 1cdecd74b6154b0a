/** Every list that the API offers, with every set of filters, reads an index in the order of the list. */
import { CompiledQuery } from 'kysely'
import type { QueryResult } from 'kysely'
import { expect } from 'vitest'

import { routes } from '../../src/contract/routes.ts'
import { jobStatuses } from '../../src/core/job.ts'
import type { ReadList } from '../../src/db/lists.ts'
import type { Db } from '../../src/db/schema.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { sqliteOnly } from '../support/new-database.ts'
import { makePartner } from '../support/partners.ts'
import { useServices } from '../support/use-service.ts'
import { nearWallet } from '../support/wallets.ts'

const services = useServices()
/** Queries of these select entries of a published document. */
const ofDocuments = ['getRailHistory', 'listOpportunities', 'getLeaderboard']
const lists = routes.filter(
  ({ id, method, access, query = {} }) =>
    method === 'GET' && access === 'public' && 'limit' in query && !ofDocuments.includes(id),
)
/** Limits end these: counted rows, and the newest jobs that expired. */
const bounded = /^SCAN (?:counted|newest)$/
const sorts = /TEMP B-TREE|MULTI-INDEX|^SCAN/

/** Every set of the filters of a list, each with every status of a job. */
function filtersOf({ id, query = {} }: (typeof lists)[number]): readonly (readonly string[])[] {
  const others = ['limit', 'cursor', 'content']
  const names = Object.keys(query).filter((name) => !others.includes(name))
  return names.reduce<readonly (readonly string[])[]>(
    (sets, name) => {
      const isStatus = id === 'listJobs' && name === 'status'
      const values = isStatus ? jobStatuses : [query[name]?.example]
      const added = values.map((value) => `${name}=${encodeURIComponent(String(value))}`)
      return sets.flatMap((set) => [set, ...added.map((one) => [...set, one])])
    },
    [[]],
  )
}

/** Returns whether receipts are read from the index with every filter, or from the worker's short one. */
function hasEveryFilter(detail: string, filters: readonly string[]): boolean {
  if (!/^SEARCH receipts USING .*INDEX (?!receipts_by_time)/.test(detail)) return true
  const names = filters.map((filter) => filter.split('=')[0]).filter((name) => name !== 'since')
  if (names.includes('wallet')) return detail.includes('receipts_by_worker (to_wallet=?')
  return detail.split('=?').length - 1 === names.length || detail.includes('INTEGER PRIMARY KEY')
}

sqliteOnly(
  'reads the query plans of SQLite',
  'no list scans a table or sorts rows, whatever its filters are',
  async () => {
    const database = await tempDatabase()
    let asked: Promise<QueryResult<{ detail: string }>>[] = []
    const explained = (db: Db): Db =>
      db.withPlugin({
        transformQuery: ({ node, queryId }) => {
          const { sql, parameters } = db.getExecutor().compileQuery(node, queryId)
          const explain = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters])
          asked.push(database.reader.executeQuery(explain))
          return node
        },
        transformResult: ({ result }) => Promise.resolve(result),
      })
    const list: ReadList = (read, reader) => database.list((db) => read(explained(db)), reader)
    const service = await services.start({ actions: { database: { ...database, list } } })
    await makePartner(service, nearWallet('reader'), { handle: 'reader' })

    const bad: string[] = []
    for (const route of lists) {
      for (const filters of filtersOf(route)) {
        asked = []
        const path = route.path.replace('{handle}', 'reader')
        const target = `${path}?${['limit=1', ...filters].join('&')}`
        const { status } = await fetch(service.url + target)
        const plans = (await Promise.all(asked)).flatMap(({ rows }) => rows)
        if (status !== 200 || plans.length === 0) bad.push(`${target}: ${status}`)
        for (const { detail } of plans) {
          const isWhole = filters.length === 0 && detail.startsWith('SCAN')
          const isBad = sorts.test(detail) && !bounded.test(detail) && !isWhole
          if (isBad || !hasEveryFilter(detail, filters)) bad.push(`${target}: ${detail}`)
        }
      }
    }
    expect(bad).toEqual([])
  },
)
