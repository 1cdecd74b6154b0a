import { expect, test } from 'vitest'

import { CanonicalJsonError } from '../../src/core/canonical-json.ts'
import { stateFromAudit } from '../../src/core/rail-poll.ts'
import { closeFlag, listClosedFlags, listOpenFlags, openFlag } from '../../src/db/flags.ts'
import type { NewFlag } from '../../src/db/flags.ts'
import {
  loadHourlyAggregate,
  saveHourlyAggregate,
  historyOf,
  loadRailStates,
  pollsAfter,
} from '../../src/db/polls.ts'
import type { NewPoll, StoredRailState } from '../../src/db/polls.ts'
import { insertNumbered, putRecord } from '../../src/db/records.ts'
import { dropRunsBefore, finishRun, lastRuns, startRun } from '../../src/db/runs.ts'
import { addViews, viewsSince } from '../../src/db/views.ts'
import { tempDatabase } from './temp-database.ts'

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString()

const poll = {
  rail: 'olas',
  startedAt: at(0),
  durationMs: 812,
  outcome: 'ok',
  error: null,
  figures: { tpv_30d_micro_usdc: 12_000_000, top_worker_share: null },
  evidence: { pointers: [{ kind: 'http', items: 3 }] },
  rule: 'plain/1',
  bundle: null,
  statusAfter: 'paying',
} as const satisfies NewPoll

test('polls are returned as stored, newest first, and figures that are not JSON are refused', async () => {
  const { reader, write } = await tempDatabase()
  const failure = { outcome: 'failed', error: 'HTTP 500', figures: null } as const
  const failed = { ...poll, ...failure, startedAt: at(5) }
  await write(async (tx) => {
    await insertNumbered(tx, 'polls', poll, 'id')
    await insertNumbered(tx, 'polls', failed, 'id')
    await insertNumbered(tx, 'polls', { ...poll, rail: 'poidh', startedAt: at(3) }, 'id')
  })
  const refused = write((tx) =>
    insertNumbered(tx, 'polls', { ...poll, figures: { tpv: Number.NaN } }, 'id'),
  )
  await expect(refused).rejects.toThrow(CanonicalJsonError)
  expect(await historyOf(reader, 'olas')).toEqual([
    { id: 2, ...failed },
    { id: 1, ...poll },
  ])
  expect((await historyOf(reader, 'olas', { limit: 1 })).map(({ id }) => id)).toEqual([2])
  expect((await historyOf(reader, 'olas', { from: at(1) })).map(({ id }) => id)).toEqual([2])
  expect(await historyOf(reader, 'unknown')).toEqual([])
  expect((await pollsAfter(reader, 1, 10)).map(({ id }) => id)).toEqual([2, 3])
  expect((await pollsAfter(reader, 1, 1)).map(({ id }) => id)).toEqual([2])
})

test('a new rail state replaces the previous one, including nulls', async () => {
  const { reader, write } = await tempDatabase()
  const { rail: _, ...dormant } = stateFromAudit({
    rail: 'olas',
    status: 'dormant',
    asOfMs: 0,
    figures: {},
  })
  const audited: StoredRailState = {
    rail: 'olas',
    lastPollId: null,
    state: dormant,
  }
  await write((tx) => putRecord(tx, 'rail_state', audited, 'rail'))
  expect(await loadRailStates(reader)).toEqual(new Map([['olas', audited]]))
  const polled: StoredRailState = {
    rail: 'olas',
    lastPollId: 1,
    state: { ...dormant, status: 'paying', lastError: 'HTTP 500', consecutiveFailures: 2 },
  }
  await write(async (tx) => {
    await insertNumbered(tx, 'polls', poll, 'id')
    await putRecord(tx, 'rail_state', polled, 'rail')
  })
  expect(await loadRailStates(reader)).toEqual(new Map([['olas', polled]]))
  await write((tx) => putRecord(tx, 'rail_state', audited, 'rail'))
  expect((await loadRailStates(reader)).get('olas')).toEqual(audited)
  const orphan = write((tx) => putRecord(tx, 'rail_state', { ...polled, lastPollId: 99 }, 'rail'))
  await expect(orphan).rejects.toThrow(/foreign key/i)
})

const flag = {
  id: 'flag-1',
  kind: 'poll_failed',
  rail: 'olas',
  subject: '',
  severity: 'warning',
  title: 'olas was not polled',
  evidence: { failures: 2 },
  openedAt: at(0),
} as const satisfies NewFlag

test.each([
  ['a rail', 'olas'],
  ['the ledger itself', null],
])('a flag on %s can be open only once, and again after it was closed', async (_, rail) => {
  const { reader, write } = await tempDatabase()
  const first = { ...flag, rail }
  const open = (id: string, minute: number) =>
    write((tx) => openFlag(tx, { ...first, id, openedAt: at(minute) }))
  expect(await open('flag-1', 0)).toBe(true)
  expect(await open('flag-2', 1)).toBe(false)
  expect(await listOpenFlags(reader)).toEqual([{ ...first, closedAt: null, closeReason: null }])

  const closed = { ...first, closedAt: at(2), closeReason: 'polled again' }
  expect(await write((tx) => closeFlag(tx, first, at(2), 'polled again'))).toEqual(closed)
  expect(await write((tx) => closeFlag(tx, first, at(3), 'twice'))).toBeNull()
  expect(await listOpenFlags(reader)).toEqual([])

  expect(await open('flag-3', 4)).toBe(true)
  await write((tx) => closeFlag(tx, first, at(5), 'again'))
  expect((await listClosedFlags(reader, 10)).map(({ id }) => id)).toEqual(['flag-3', 'flag-1'])
  expect(await listClosedFlags(reader, 1)).toHaveLength(1)
})

test('flags that differ in kind, rail or subject can be open together', async () => {
  const { reader, write } = await tempDatabase()
  const others = [
    flag,
    { ...flag, id: 'b', kind: 'stale_figures' },
    { ...flag, id: 'c', rail: 'poidh' },
    { ...flag, id: 'd', rail: null },
    { ...flag, id: 'e', subject: '0xabc' },
  ]
  for (const other of others) expect(await write((tx) => openFlag(tx, other))).toBe(true)
  await write((tx) => closeFlag(tx, { ...flag, rail: null }, at(9), 'done'))
  expect((await listOpenFlags(reader)).map(({ id }) => id)).toEqual(['b', 'c', 'e', 'flag-1'])
})

test('opening a flag with an existing id throws', async () => {
  const { write } = await tempDatabase()
  await write((tx) => openFlag(tx, flag))
  await expect(write((tx) => openFlag(tx, { ...flag, subject: 'x' }))).rejects.toThrow(/unique/i)
})

test('saving an hourly aggregate stores cursor and buckets together and replaces only changed buckets', async () => {
  const { reader, write } = await tempDatabase()
  const load = (rail: string, fromHour = 0, name = 'logs') =>
    loadHourlyAggregate(reader, rail, name, fromHour)
  const nothing = { cursor: null, buckets: [] }
  expect(await load('olas')).toEqual(nothing)
  const buckets = Array.from({ length: 2500 }, (_, hour) => ({ hour, body: { count: hour } }))
  const other = { cursor: 'page 2', buckets: [] }
  await write((tx) => saveHourlyAggregate(tx, 'olas', 'logs', { cursor: { block: 5 }, buckets }))
  await write((tx) => saveHourlyAggregate(tx, 'olas', 'other', other))
  expect(await load('olas')).toEqual({ cursor: { block: 5 }, buckets })
  expect(await load('olas', 0, 'other')).toEqual(other)
  expect(await load('poidh')).toEqual(nothing)

  const changed = { cursor: { block: 6 }, buckets: [{ hour: 2499, body: { count: 1 } }] }
  await write((tx) => saveHourlyAggregate(tx, 'olas', 'logs', changed))
  expect((await load('olas', 2498)).buckets).toEqual([
    ...buckets.slice(2498, 2499),
    ...changed.buckets,
  ])
  expect(await load('olas', 9999)).toEqual({ ...changed, buckets: [] })
})

test('a failed save keeps the cursor and buckets of an hourly aggregate', async () => {
  const { reader, write } = await tempDatabase()
  const stored = { cursor: { block: 5 }, buckets: [{ hour: 1, body: {} }] }
  await write((tx) => saveHourlyAggregate(tx, 'olas', 'logs', stored))
  const buckets = [{ hour: 1, body: { count: Number.NaN } }]
  await expect(
    write((tx) => saveHourlyAggregate(tx, 'olas', 'logs', { cursor: { block: 6 }, buckets })),
  ).rejects.toThrow(CanonicalJsonError)
  expect(await loadHourlyAggregate(reader, 'olas', 'logs', 0)).toEqual(stored)
})

test('the last run of each cron job is returned, and a run can be finished only once', async () => {
  const { reader, write } = await tempDatabase()
  const first = await write((tx) => startRun(tx, 'build', at(0)))
  const end = { finishedAt: at(1), outcome: 'ok', detail: null } as const
  expect(await write((tx) => finishRun(tx, first, end))).toBe(true)
  expect(await write((tx) => finishRun(tx, first, { ...end, outcome: 'failed' }))).toBe(false)
  expect(await write((tx) => finishRun(tx, 99, end))).toBe(false)
  const second = await write((tx) => startRun(tx, 'build', at(2)))
  const pollRun = await write((tx) => startRun(tx, 'poll', at(1)))
  const open = { finishedAt: null, outcome: null, detail: null }
  expect(await lastRuns(reader)).toEqual(
    new Map([
      ['build', { id: second, job: 'build', startedAt: at(2), ...open }],
      ['poll', { id: pollRun, job: 'poll', startedAt: at(1), ...open }],
    ]),
  )
  expect(await write((tx) => dropRunsBefore(tx, at(9)))).toBe(1)
  expect([...(await lastRuns(reader)).keys()]).toEqual(['build', 'poll'])
})

test('article views are summed per hour and read from a given hour on', async () => {
  const { reader, write } = await tempDatabase()
  await write((tx) => addViews(tx, []))
  await write((tx) =>
    addViews(tx, [
      { slug: 'a', hour: 10, views: 5 },
      { slug: 'b', hour: 11, views: 1 },
    ]),
  )
  await write((tx) => addViews(tx, [{ slug: 'a', hour: 11, views: 4 }]))
  const viewsFrom = async (hour: number) => Object.fromEntries(await viewsSince(reader, hour))
  expect(await viewsFrom(0)).toEqual({ a: 9, b: 1 })
  expect(await viewsFrom(11)).toEqual({ a: 4, b: 1 })
  expect(await viewsFrom(12)).toEqual({})
  const many = Array.from({ length: 12_000 }, (_, at) => ({ slug: 'c', hour: at + 100, views: 1 }))
  await write((tx) => addViews(tx, many))
  expect(await viewsFrom(100)).toEqual({ c: 12_000 })
})
