import { beforeEach, expect, test } from 'vitest'

import { jobDocuments } from '../../builder/documents/community.ts'
import { gatherExchange } from '../../builder/world/lists.ts'
import { issuerOf } from '../../src/auth/exchange-keys.ts'
import { jobList } from '../../src/contract/schemas/job.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { openExchange } from '../support/exchange.ts'
import type { Exchange } from '../support/exchange.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld } from '../support/world.ts'

const service = useService()
let exchange: Exchange
beforeEach(async () => {
  exchange = await openExchange(service)
})

async function gather() {
  const { database, keys, site } = service.actions
  const nowMs = service.clock.now()
  return await gatherExchange(database, {
    siteUrl: site.url,
    nowMs,
    receiptsBy: issuerOf(keys.exchange()),
  })
}

test('the document of jobs is the first page of the list, and its cursor continues with the second', async () => {
  for (let at = 0; at < 52; at += 1) {
    await exchange.post({ deadline: isoTime(service.clock.now() + hourMs + at) })
  }
  const [document] = jobDocuments()(smallWorld({ exchange: await gather() }))
  if (document === undefined || !('json' in document.body)) throw new Error('no document')
  expect(document).toMatchObject({ path: '/api/v1/jobs', maxAgeSeconds: 60 })
  const list = jobList.parse((await exchange.look('/api/v1/jobs?limit=50')).body)
  const { computed_at: _computedAt, query, ...first } = list
  expect(query).toEqual({ limit: '50' })
  expect(document.body.json).toEqual(first)
  const second = await exchange.look(`/api/v1/jobs?cursor=${first.next_cursor}`)
  expect(jobList.parse(second.body)).toMatchObject({ count: 2, total: 52 })
})

test('open jobs are counted until their deadline', async () => {
  await exchange.post({ deadline: isoTime(service.clock.now() + hourMs) })
  await exchange.awarded()
  expect(await gather()).toMatchObject({ total: 2, open: 1 })
  service.clock.advance(hourMs)
  const { open, jobs } = await gather()
  expect([open, jobs.map(({ status }) => status)]).toEqual([0, ['awarded', 'expired']])
})
