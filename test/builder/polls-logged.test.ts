/** What polls leave in the queue of the log, and what readers can compare it with. */
import { expect, test } from 'vitest'

import { pollRound } from '../../builder/jobs/poll.ts'
import { httpRails } from '../../builder/rails/index.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { loadAuthored } from '../../builder/world/authored.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { figureNames } from '../../src/core/figures.ts'
import { hourMs } from '../../src/core/time.ts'
import { eventsSince } from '../../src/db/events.ts'
import { historyOf } from '../../src/db/polls.ts'
import { handClock } from '../support/http-service.ts'
import { expectLogged, queued } from '../support/logged.ts'
import { quietLog } from '../support/quiet-log.ts'
import { startReplayServer } from '../support/replay-server.ts'
import { useService } from '../support/use-service.ts'

const rail = 'superteam_earn'
const clock = handClock(Date.UTC(2026, 9, 5) - 9)
const service = useService({ options: () => ({ clock }) })

test('every poll is logged with its evidence, failed ones too, and so are flags and changes of status', async () => {
  const source = await startReplayServer(rail)
  const { database, random } = service.actions
  const waitless = { ...clock, sleep: async () => await Promise.resolve() }
  // The first poll finds less than the audit.
  const authored = (await loadAuthored('data')).rails.flatMap((one) =>
    one.rail === rail ? [{ ...one, audit: { ...one.audit, status: 'paying' as const } }] : [],
  )
  const poll = async () => {
    const sources = { fetch, clock: waitless, random, userAgent: 'test', rpcUrls: {} }
    const railBaseUrls = new Map([[rail, source.url]])
    const [report] = await pollRound(
      {
        database,
        random,
        fetch,
        clock: waitless,
        log: quietLog,
        pollEveryMs: hourMs,
        sources: createSources({ ...sources, railBaseUrls }),
      },
      {
        adapters: httpRails.filter((one) => one.rail === rail),
        authored,
        which: 'all',
        signal: new AbortController().signal,
      },
    )
    // Barely, so that the window of the recorded answers stays the same.
    clock.advance(1)
    return report?.outcome
  }
  expect(await poll()).toBe('ok')
  source.setMode('500')
  expect(await poll()).toBe('failed')
  source.setMode('normal')
  expect(await poll()).toBe('ok')
  await source.close()

  const logged = await queued(service)
  const polls = logged.filter(({ kind }) => kind === 'poll')
  expect(polls.map(({ subject, extra }) => [subject, extra])).toEqual(
    ['ok', 'failed', 'ok'].map((outcome) => [rail, JSON.stringify({ outcome })]),
  )
  const kept = await historyOf(database.reader, rail)
  expect(new Set(kept.map(({ bundle }) => bundle))).toEqual(
    new Set(polls.map(({ sha256 }) => sha256)),
  )
  for (const { sha256 } of polls) {
    const evidence = await fetch(`${service.url}/evidence/${sha256}.json`)
    expect(sha256Hex(await evidence.text())).toBe(sha256)
  }
  // The failure opens a flag, which the next poll closes.
  expect(logged.filter(({ kind }) => kind === 'flag').length).toBeGreaterThanOrEqual(2)
  expect(logged.filter(({ kind }) => kind === 'transition').length).toBeGreaterThanOrEqual(1)
  const events = await eventsSince(database.reader, { seq: 0 }, 100)
  const changed = events.find(({ kind }) => kind === 'rail_transition')?.data
  for (const name of figureNames) expect(changed).toHaveProperty(['figures', name])
  expect(JSON.stringify(changed)).not.toContain('Micro')
  expect(changed?.['status_reasons']).toContainEqual(
    expect.objectContaining({ outcome: 'decides' }),
  )
  await expectLogged(service)
})
