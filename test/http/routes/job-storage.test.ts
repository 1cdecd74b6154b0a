/** Storage of jobs that are cancelled or expire. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { createTidy } from '../../../builder/jobs/tidy.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { bidList, jobDetail, jobList } from '../../../src/contract/schemas/job.ts'
import type { Job } from '../../../src/contract/schemas/job.ts'
import { canonicalize } from '../../../src/core/canonical-json.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { expireJobs } from '../../../src/db/jobs/deadlines.ts'
import { openExchange, parties } from '../../support/exchange.ts'
import { signedRequest } from '../../support/requests.ts'
import { useService } from '../../support/use-service.ts'

const jobs = '/api/v1/jobs'
const service = useService()

test('a partner who posts and cancels jobs stores each text once, and each answer once', async () => {
  const exchange = await openExchange(service)
  const description = 'secret sauce '.repeat(600).trim()
  const headers = { 'Idempotency-Key': 'post' }
  const post = { path: jobs, body: exchange.postBody({ description }), headers }
  const send = await signedRequest(service, parties.poster, post)
  const posted = await send()
  const id = z.string().parse(posted.body['id'])
  const path = `${jobs}/${id}/cancel`
  const end = { path, body: {}, headers: { 'Idempotency-Key': 'cancel' } }
  const cancel = await signedRequest(service, parties.poster, end)
  const cancelled = await cancel()
  const after = JSON.stringify(await exchange.rows())
  // The row of the job, the answer to its post and the answer to its cancellation.
  expect(after.split(description).length - 1).toBe(3)
  for (const [again, first] of [
    [await send(), posted],
    [await cancel(), cancelled],
  ] as const) {
    expect([again.status, again.body]).toEqual([200, first.body])
  }
})
const everyText = ['Secret title', 'secret sauce', 'secret-skill', 'secret offer']

test('cancelled and expired jobs keep after 90 days their hash, parties and times, without texts', async () => {
  const exchange = await openExchange(service)
  const { clock, actions } = service
  const texts = {
    title: 'Secret title',
    description: 'secret sauce',
    skills: ['secret-skill'],
  }
  const deadline = isoTime(clock.now() + hourMs)
  const offer = { proposal: 'secret offer' }
  const bidOn = async ({ id }: Job) => await exchange.bid(id, 'worker', offer)
  const [awarded, expired] = [
    await exchange.post(texts),
    await exchange.post({ ...texts, deadline }),
  ]
  const { id: bidId } = await bidOn(awarded)
  await bidOn(expired)
  await exchange.act('poster', awarded.id, 'award', { bid_id: bidId })
  await exchange.act('poster', awarded.id, 'cancel')
  const kept = await exchange.delivered()
  const { signal } = new AbortController()
  const stepped = { ...actions.clock, now: clock.now, monotonic: () => clock.now() }
  const { database } = actions
  const tidy = createTidy({ database, clock: stepped, signal })
  const afterDays = async (days: number): Promise<string> => {
    clock.advance(days * dayMs)
    await tidy()
    clock.advance(10 * minuteMs)
    await tidy()
    return JSON.stringify(await exchange.rows())
  }
  expect(everyText.filter((text) => !JSON.stringify([awarded, expired]).includes(text))).toEqual([
    'secret offer',
  ])
  clock.advance(hourMs)
  await expireJobs(database, clock.now())
  const early = await afterDays(89)
  expect(everyText.filter((text) => !early.includes(text))).toEqual([])
  const late = await afterDays(1)
  expect(everyText.filter((text) => late.includes(text))).toEqual([])

  const thinned = {
    title: '',
    description: '',
    skills: [],
    texts_sha256: sha256Hex(canonicalize(texts)),
  }
  for (const before of [awarded, expired]) {
    const after = jobDetail.parse((await exchange.look(`${jobs}/${before.id}`)).body)
    const { poster, budget_usdc: budget, created_at: createdAt } = before
    const facts = { poster, budget_usdc: budget, created_at: createdAt, bids_count: 1 }
    expect(after).toMatchObject({ ...thinned, ...facts, texts_removed_at: isoTime(clock.now()) })
    const bids = await exchange.read('poster', `${jobs}/${before.id}/bids`)
    const proposal = { proposal: '', texts_sha256: sha256Hex(canonicalize(offer)) }
    expect(bidList.parse(bids.body).bids).toMatchObject([proposal])
    const page = await (await fetch(`${service.url}/jobs/${before.id}`)).text()
    expect(page).toContain('Title, description and skills were removed at')
    expect(page).toContain(thinned.texts_sha256)
  }
  const other = jobDetail.parse((await exchange.look(`${jobs}/${kept.id}`)).body)
  expect([other.title, other.texts_removed_at]).toEqual([kept.title, undefined])
  const found = jobList.parse((await exchange.look(`${jobs}?skill=secret-skill`)).body)
  expect(found.count).toBe(0)
})
