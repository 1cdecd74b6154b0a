import { randomBytes } from 'node:crypto'

import { expect, test } from 'vitest'

import { pollRound } from '../../builder/jobs/poll.ts'
import { defineRail } from '../../builder/rails/adapter.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { loadAuthored } from '../../builder/world/authored.ts'
import { hourMs } from '../../src/core/time.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import { quietLog } from '../support/quiet-log.ts'

test('two rails over HTTP and two others are read at the same time, so that few large answers are in memory', async () => {
  const database = await tempDatabase()
  const clock = handClock()
  const random = { bytes: randomBytes, unit: () => 0.5 }
  const authored = (await loadAuthored('data')).rails
  const answered = gate()
  const reading = { http: 0, chain: 0 }
  const most = { http: 0, chain: 0 }
  const adapters = authored.slice(0, 10).map(({ rail }, at) => {
    const kind = at % 2 === 0 ? 'http' : 'chain'
    return defineRail<null>({
      rail,
      rule: { name: 'test', version: '1', text: 'A test.' },
      ...(kind === 'http' ? { hosts: ['https://rail.example'] } : {}),
      read: async () => {
        reading[kind] += 1
        most[kind] = Math.max(most[kind], reading[kind])
        await answered.opened
        reading[kind] -= 1
        throw new Error('the source is down')
      },
      reduce: () => {
        throw new Error('nothing was read')
      },
    })
  })
  const sources = { fetch, clock, random, userAgent: 'test', rpcUrls: {}, railBaseUrls: new Map() }
  const deps = { database, clock, random, fetch, log: quietLog, pollEveryMs: hourMs }
  const round = pollRound(
    { ...deps, sources: createSources(sources) },
    { adapters, authored, which: 'all', signal: new AbortController().signal },
  )
  await expect.poll(() => reading).toEqual({ http: 2, chain: 2 })
  answered.open()
  expect((await round).map(({ outcome }) => outcome)).toEqual(Array(10).fill('failed'))
  expect(most).toEqual({ http: 2, chain: 2 })
})
