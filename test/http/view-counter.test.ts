import { expect, test } from 'vitest'

import { createViewCounter } from '../../src/http/view-counter.ts'
import type { ViewCounter } from '../../src/http/view-counter.ts'
import { useServices } from '../support/use-service.ts'

const { start } = useServices()

test('reads of an article count once per network and hour', async () => {
  let views: ViewCounter | null = null
  const service = await start({
    trustedProxies: ['127.0.0.1'],
    countView: (slug, network) => views?.count(slug, network),
  })
  const { database, clock, log } = service.actions
  views = createViewCounter({ database, clock, log })
  const read = async (address: string) => {
    const headers = { 'X-Forwarded-For': address }
    expect((await fetch(`${service.url}/desk/weekly-47.md`, { headers })).status).toBe(200)
  }
  const counted = async () => {
    await views?.flush()
    const rows = await database.reader.selectFrom('article_views').select('views').execute()
    return rows.reduce((sum, row) => sum + row.views, 0)
  }
  for (let again = 0; again < 20; again += 1) await read('192.0.2.1')
  expect(await counted()).toBe(1)
  await read('192.0.2.2')
  for (let block = 0; block < 20; block += 1) await read(`2001:db8:0:${block}::1`)
  expect(await counted()).toBe(3)
  service.clock.advance(3_600_000)
  await read('192.0.2.1')
  expect(await counted()).toBe(4)
})
