/** SQL injection: statements contain no text of a request. */
import { readFile, readdir } from 'node:fs/promises'

import { beforeAll, expect, test } from 'vitest'

import { openExchange } from '../support/exchange.ts'
import type { Exchange } from '../support/exchange.ts'
import { useService } from '../support/use-service.ts'

const service = useService({ per: 'file' })
let exchange: Exchange

beforeAll(async () => {
  exchange = await openExchange(service)
})

const payloads = [
  `' or '1'='1`,
  `'; drop table jobs; --`,
  `") or 1=1 --`,
  `1 union select wallet, display from workers`,
  `x' || (select email from partners) || '`,
  `\\'; delete from oath_history; --`,
  `%27%20or%201%3D1`,
  `robert'); attach database '/tmp/x' as x; --`,
] as const

test('queries and paths with SQL find nothing, break nothing and change nothing', async () => {
  await exchange.post()
  const before = await exchange.rows()
  const paths = [
    ...['jobs', 'workers', 'receipts'].flatMap((list) =>
      ['skill', 'wallet', 'status', 'since', 'cursor', 'limit', 'rail', 'chain'].map(
        (name) => (text: string) => `/api/v1/${list}?${name}=${encodeURIComponent(text)}`,
      ),
    ),
    ...['jobs', 'workers', 'receipts', 'partners', 'rails', 'skills', 'pacts'].map(
      (list) => (text: string) => `/api/v1/${list}/${encodeURIComponent(text)}`,
    ),
  ]
  for (const pathOf of paths) {
    for (const payload of payloads) {
      const answer = await fetch(`${service.url}${pathOf(payload)}`)
      await answer.arrayBuffer()
      expect([pathOf(payload), [400, 404].includes(answer.status)]).toEqual([pathOf(payload), true])
    }
  }
  expect(await exchange.rows()).toEqual(before)
})

test('only migrations, partitions and settings build SQL statements from text', async () => {
  const found: string[] = []
  for (const folder of ['src', 'builder']) {
    for (const name of await readdir(folder, { recursive: true })) {
      if (!name.endsWith('.ts')) continue
      const text = await readFile(`${folder}/${name}`, 'utf8')
      if (/\bsql\s*\.\s*(?:raw|lit)\b/.test(text)) found.push(`${folder}/${name}`)
    }
  }
  // Names of partitions and settings of connections take no parameters.
  expect(found.toSorted()).toEqual([
    'src/db/migrations.ts',
    'src/db/partitions.ts',
    'src/db/sqlite3/engine.ts',
  ])
})
