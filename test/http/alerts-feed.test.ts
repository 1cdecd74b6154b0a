import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { z } from 'zod'

import { alertFeed } from '../../src/contract/schemas/alert.ts'
import { isoTime } from '../../src/core/time.ts'
import { appendEvent, eventsSince, lastEventSeq } from '../../src/db/events.ts'
import type { NewEvent } from '../../src/db/events.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { expectRefusal } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const service = useService()
const alice = evmWallet('alice')

beforeEach(async () => {
  await makePartner(service, alice, { handle: 'alice' })
})

let made = 0
function event(createdAtMs: number, changes: Partial<NewEvent> = {}): NewEvent {
  made += 1
  return {
    id: `evt-${made}`,
    kind: 'rail_transition',
    rail: 'x402',
    severity: 'info',
    title: `event ${made}`,
    data: { from: 'dormant', to: 'paying' },
    createdAt: isoTime(createdAtMs),
    ...changes,
  }
}

const append = (database: OpenDatabase, next: NewEvent) =>
  database.write((tx) => appendEvent(tx, next))

async function feed(query = ''): Promise<z.infer<typeof alertFeed>> {
  const answer = await partnerClient(service, alice)('GET', `/api/v1/alerts/feed${query}`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('private, no-store')
  return alertFeed.parse(answer.body)
}

const sinceQuery = (since: string, more = '') => `?since=${encodeURIComponent(since)}${more}`

describe('the alert feed', () => {
  test('lists the oldest alerts first, with the next poll time and cursor', async () => {
    const { database } = service.actions
    const nowMs = service.clock.now()
    expect(await feed()).toEqual({
      count: 0,
      events: [],
      next_poll_hint: { after_seconds: 60, since: '1970-01-01T00:00:00.000Z' },
    })
    await append(database, event(nowMs))
    const flag = { kind: 'flag_opened', severity: 'critical', rail: null } as const
    await append(database, event(nowMs + 5, flag))
    service.clock.advance(12_345)
    const { count, events, next_poll_hint: hint } = await feed()
    expect(count).toBe(2)
    expect(events.map(({ kind, rail, created_at: at }) => [kind, rail, at])).toEqual([
      ['rail_transition', 'x402', isoTime(nowMs)],
      ['flag_opened', null, isoTime(nowMs + 5)],
    ])
    expect(hint).toEqual({ after_seconds: 48, since: isoTime(nowMs + 5) })
    expect(await feed(sinceQuery(hint.since))).toMatchObject({ count: 0, next_poll_hint: hint })
  })

  test('filters alerts by rail and by least severity, and reports that more are available', async () => {
    const { database } = service.actions
    const nowMs = service.clock.now()
    for (const [rail, severity] of [
      ['x402', 'info'],
      ['olas', 'warning'],
      ['x402', 'warning'],
      ['x402', 'critical'],
    ] as const) {
      await append(database, event(nowMs, { rail, severity }))
    }
    expect((await feed('?rail=x402')).count).toBe(3)
    const severe = await feed('?severity=warning')
    expect(severe.events.map(({ severity }) => severity)).toEqual([
      'warning',
      'warning',
      'critical',
    ])
    expect((await feed('?rail=x402&severity=critical')).count).toBe(1)
    const first = await feed('?rail=x402&limit=2')
    expect(first).toMatchObject({ count: 2, next_poll_hint: { after_seconds: 0 } })
    const rest = await feed(sinceQuery(first.next_poll_hint.since, '&rail=x402&limit=2'))
    expect(rest.events.map(({ severity }) => severity)).toEqual(['critical'])
    expect(rest.next_poll_hint.after_seconds).toBeGreaterThan(0)
  })

  test('the alert feed accepts every RFC 3339 spelling of a time', async () => {
    const { database } = service.actions
    const nowMs = Date.parse('2026-11-21T06:00:00.500Z')
    await append(database, event(nowMs))
    expect((await feed(sinceQuery('2026-11-21T06:00:00.499Z'))).count).toBe(1)
    expect((await feed(sinceQuery('2026-11-21T06:00:00.500Z'))).count).toBe(0)
    expect((await feed(sinceQuery('2026-11-21T07:00:00.5+01:00'))).count).toBe(0)
    expect((await feed(sinceQuery('2026-11-21t06:00:00z'))).count).toBe(1)
    // The example of RFC 3339, section 5.8.
    expect((await feed(sinceQuery('1990-12-31T15:59:60-08:00'))).count).toBe(1)
    const path = '/api/v1/alerts/feed?since=2026-11-21T07:00:00+01:00'
    expect(await partnerClient(service, alice)('GET', path)).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'since', message: expect.stringContaining('%2B') as unknown }] },
    })
  })

  test('the alert feed is available to partners and to paying callers only', async () => {
    const bare = await fetch(`${service.url}/api/v1/alerts/feed`)
    expect(bare.status).toBe(402)
    const stranger = partnerClient(service, evmWallet('stranger'))
    expectRefusal(await stranger('GET', '/api/v1/alerts/feed'), 403, 'not_a_partner')
  })

  test('the alert feed loses and repeats nothing when the clocks of its writers disagree', async () => {
    const { database } = service.actions
    // A second process on the same file, such as the builder.
    const other = await openDatabase({ url: database.url })
    const startMs = service.clock.now()
    const step = fc.record({
      // Equal times, small steps, and clocks that go back or ahead by hours.
      offsetMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -3, max: 3 }),
        fc.integer({ min: -7_200_000, max: 7_200_000 }),
      ),
      together: fc.integer({ min: 1, max: 4 }),
      reads: fc.boolean(),
      limit: fc.integer({ min: 1, max: 5 }),
    })
    let since = (await feed('?limit=200')).next_poll_hint.since
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const before = await lastEventSeq(database.reader)
        const written: string[] = []
        const seen: string[] = []
        const readPage = async (limit: number): Promise<number> => {
          const page = await feed(sinceQuery(since, `&limit=${limit}`))
          seen.push(...page.events.map(({ id }) => id))
          since = page.next_poll_hint.since
          return page.count
        }
        for (const { offsetMs, together, reads, limit } of steps) {
          const writes = [database, other].flatMap((writer) =>
            Array.from({ length: together }, () => {
              const next = event(startMs + offsetMs)
              written.push(next.id)
              return append(writer, next)
            }),
          )
          // While they are being written, and after.
          if (reads) await readPage(limit)
          await Promise.all(writes)
        }
        while ((await readPage(5)) > 0);
        const inOrder = await eventsSince(database.reader, { seq: before }, 1000)
        expect(seen).toEqual(inOrder.map(({ id }) => id))
        expect(seen.toSorted()).toEqual(written.toSorted())
      }),
      { numRuns: 25 },
    )
    await other.close()
  })
})
