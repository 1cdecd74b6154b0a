/** The first minutes of a newcomer: a fresh clone with only `PORT` set, a write and a restart. */
import { setTimeout as delay } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { allowSlowTests } from '../support/slow-tests.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'
import { useClone } from './clone.ts'

allowSlowTests('watches a service for 90 s')

const watchedMs = 90_000
/** A build that a write requested, not that of the schedule, which comes once a minute. */
const publishedWithin = { timeout: 30_000, interval: 50 }
const { start, stop, url } = useClone()

async function read(path: string): Promise<string> {
  return await (await fetch(url(path))).text()
}

/** Registers a worker and waits until the published list contains it. */
async function register(name: string): Promise<void> {
  const worker = { display_name: name, skills: ['agent-news-reporting'] }
  const body = await signedBody(nearWallet(name), 'register', worker, { nowMs: Date.now() })
  const answer = await fetch(url('/api/v1/workers/register'), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(201)
  await expect.poll(() => read('/api/v1/workers'), publishedWithin).toContain(name)
}

test('npm start publishes a write, keeps it over a restart, and runs without a failed job', async () => {
  const first = start('start')
  await first.says('"message":"serving"')
  await register('early-worker')
  await stop(first)
  expect(first.output()).toContain('"message":"job poll stopped"')

  const second = start('start')
  await second.says('"message":"listening"')
  expect(await read('/api/v1/workers')).toContain('early-worker')
  await register('later-worker')
  await delay(watchedMs)
  expect(JSON.parse(await read('/api/v1/health'))).toMatchObject({
    database: 'ok',
    jobs: { build: { outcome: 'ok' } },
  })
  await stop(second)
})
