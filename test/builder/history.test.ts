import { expect, test } from 'vitest'

import { createHistory } from '../../builder/world/history.ts'
import { stateOf, toStateRow, toStored } from '../../builder/world/stored-rails.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { unknownWorkerIncome } from '../../src/core/figures.ts'
import { isoTime, minuteMs } from '../../src/core/time.ts'
import { insertNumbered } from '../../src/db/records.ts'
import { toRow } from '../../src/db/rows.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { figures } from '../support/figures.ts'
import { railRecord } from '../support/world.ts'

const startMs = Date.UTC(2026, 0, 1)
/** More than one page of the read. */
const count = 5200

test('the history contains every poll of a rail, newest first, however many pages they fill', async () => {
  const database = await tempDatabase()
  const rows = Array.from({ length: count }, (_, at) =>
    toRow<'polls'>({
      rail: at % 2 === 0 ? 'olas' : 'x402',
      startedAt: isoTime(startMs + at * minuteMs),
      durationMs: 10,
      outcome: 'failed',
      error: 'HTTP 500',
      figures: null,
      evidence: { pointers: [] },
      rule: 'test v1',
      bundle: null,
      statusAfter: 'paying',
    }),
  )
  await database.write(async (tx) => {
    for (let at = 0; at < count; at += 1000) {
      await tx
        .insertInto('polls')
        .values(rows.slice(at, at + 1000))
        .execute()
    }
  })
  const { polls } = await createHistory(database.reader)()
  const times = polls.get('olas')?.map(({ polledAtMs }) => polledAtMs) ?? []
  expect(times).toHaveLength(count / 2)
  expect(times[0]).toBe(startMs + (count - 2) * minuteMs)
  expect(times.at(-1)).toBe(startMs)
})

test('a figure that polls of an older version did not measure is unknown', async () => {
  const measured = figures({ workerPerDayMedianMicroUsdc: 5_500_000 })
  const { authored, state } = railRecord('olas', { state: { figures: measured } })
  const expected = { ...measured, workerPerDayMedianMicroUsdc: null }
  const older = { ...measured }
  for (const [name] of entriesOf(unknownWorkerIncome)) Reflect.deleteProperty(older, name)
  const row = { ...toStateRow({ ...state, figures: older }, 1), lastPollId: 1 }
  expect(stateOf(authored, row)).toEqual({ ...state, figures: expected })

  const database = await tempDatabase()
  await database.write((tx) =>
    insertNumbered(
      tx,
      'polls',
      {
        rail: 'olas',
        startedAt: isoTime(startMs),
        durationMs: 10,
        outcome: 'ok',
        error: null,
        figures: { ...toStored(state, {}), figures: older },
        evidence: { pointers: [] },
        rule: 'test v1',
        bundle: null,
        statusAfter: 'paying',
      },
      'id',
    ),
  )
  const { polls } = await createHistory(database.reader)()
  expect(polls.get('olas')?.map((poll) => poll.figures)).toEqual([expected])
})
