import { describe, expect, test } from 'vitest'

import { withAcceptedSkills } from '../../builder/world/registries.ts'
import { hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import { listFeedback, decideProposal, listProposals } from '../../src/db/feedback.ts'
import { tempFolder } from '../db/temp-database.ts'
import { atOnce, expectRefusal, requestJson, statusCounts } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'

const service = useService({
  // Tests choose addresses with the header that only a trusted proxy may set.
  options: () => ({ trustedProxies: ['127.0.0.1'] }),
})

interface From {
  readonly address?: string
  readonly agent?: string
  readonly key?: string
}

async function post(path: string, body: object, from: From = {}) {
  const { address = '198.51.100.7', agent = 'agent/1', key } = from
  const headers = {
    'X-Forwarded-For': address,
    'User-Agent': agent,
    ...(key === undefined ? {} : { 'Idempotency-Key': key }),
  }
  return await requestJson(service, `/api/v1${path}`, { body, headers })
}

const say = (message: string, from: From = {}) => post('/feedback', { message }, from)
const kept = () => listFeedback(service.actions.database.reader, 100)

describe('feedback', () => {
  test('stores feedback with its optional fields and nothing about the sender', async () => {
    const sent = {
      message: 'The figure of x402\nis off.',
      page: '/rails/x402',
      contact: 'a@b.example',
      rating: 2,
    }
    const answer = await post('/feedback', sent)
    expect(answer.status).toBe(201)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(answer.body['deduplicated']).toBe(false)
    expect(answer.body['feedback_id']).toMatch(/^fbk_[0-9a-f]{24}$/)
    expect(await kept()).toEqual([
      { ...sent, id: answer.body['feedback_id'], createdAt: isoTime(service.clock.now()) },
    ])
    const rows = await service.actions.database.reader.selectFrom('feedback').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('198.51.100')
    expect(JSON.stringify(rows)).not.toContain('agent/1')
  })

  test('stores the same feedback within 15 minutes once, ignoring case and spacing', async () => {
    const first = await say('Well done!')
    service.clock.advance(15 * minuteMs - 1)
    const again = await say('well   DONE！')
    expect(again.status).toBe(200)
    expect(again.body).toEqual({ feedback_id: first.body['feedback_id'], deduplicated: true })
    expect(await kept()).toHaveLength(1)
    service.clock.advance(1)
    expect((await say('Well done!')).status).toBe(201)
    expect((await say('Well done!', { agent: 'agent/2' })).status).toBe(201)
    expect(await kept()).toHaveLength(3)
  })

  test('returns 429 with Retry-After for the sixth feedback within an hour', async () => {
    for (const number of [1, 2, 3, 4, 5]) {
      expect((await say(`entry ${number}`)).status).toBe(201)
      service.clock.advance(minuteMs)
    }
    const sixth = await say('entry 6')
    expectRefusal(sixth, 429, 'rate_limited')
    expect(sixth.headers.get('retry-after')).toBe(String((55 * minuteMs) / secondMs))
    expect(sixth.headers.get('ratelimit-policy')).toBe('"feedback";q=5;w=3600')
    // A duplicate is never counted, and another agent has its own limit.
    expect((await say('entry 5')).status).toBe(200)
    expect((await say('entry 6', { agent: 'agent/2' })).status).toBe(201)
    service.clock.advance(55 * minuteMs)
    expect((await say('entry 6')).status).toBe(201)
    expect((await say('entry 7')).status).toBe(429)
  })

  test('feedback counts an IPv6 /64 as one sender, and a mapped IPv4 address as that address', async () => {
    for (const number of [1, 2, 3, 4, 5]) {
      const address = `2001:4860:1:2:${number}::1`
      expect((await say(`entry ${number}`, { address })).status).toBe(201)
    }
    expect((await say('entry 6', { address: '2001:4860:1:2:ffff::9' })).status).toBe(429)
    expect((await say('entry 6', { address: '2001:4860:1:3::1' })).status).toBe(201)
    await say('mapped', { address: '192.0.2.1' })
    expect((await say('mapped', { address: '::ffff:192.0.2.1' })).status).toBe(200)
  })

  test('feedback limits and duplicate detection survive the key rotation at midnight', async () => {
    service.clock.advance(18 * hourMs - 10 * minuteMs)
    for (const number of [1, 2, 3, 4, 5]) await say(`entry ${number}`)
    const before = await service.actions.database.reader
      .selectFrom('feedback')
      .select('fingerprint')
      .execute()
    service.clock.advance(11 * minuteMs)
    expect(isoTime(service.clock.now())).toMatch(/T00:01/)
    expect((await say('entry 6')).status).toBe(429)
    expect((await say('entry 5')).status).toBe(200)
    service.clock.advance(hourMs)
    await say('entry 6')
    const after = await service.actions.database.reader
      .selectFrom('feedback')
      .select('fingerprint')
      .where('message', '=', 'entry 6')
      .execute()
    expect(new Set(before.map(({ fingerprint }) => fingerprint)).size).toBe(1)
    expect(after[0]?.fingerprint).not.toBe(before[0]?.fingerprint)
  })

  test('feedback limits and duplicate detection survive a restart', async () => {
    const { keys } = service.actions
    const options = {
      databasePath: `${tempFolder()}/ledger.db`,
      trustedProxies: ['127.0.0.1'],
      actions: { keys },
    }
    await service.restart(options)
    for (const number of [1, 2, 3, 4, 5]) await say(`entry ${number}`)
    await service.restart(options)
    expect((await say('entry 6')).status).toBe(429)
    expect((await say('entry 3')).status).toBe(200)
  })

  test('feedback sent 50 times at once is stored once', async () => {
    const answers = await atOnce(50, () => say('at once'))
    expect(statusCounts(answers)).toEqual({ 200: 49, 201: 1 })
    expect(await kept()).toHaveLength(1)
  })
})

describe('taxonomy proposals', () => {
  const proposal = {
    name: 'Crème Brûlée Tasting',
    category: 'research-analysis',
    surface: ['x402', 'olas', 'x402'],
    description: 'Tastes and reports.',
    proposer: 'a friend',
  }
  const propose = (changes: object = {}, from: From = {}) =>
    post('/skills', { ...proposal, ...changes }, from)

  test('taxonomy proposals are pending until the operator accepts them', async () => {
    const { database } = service.actions
    const answer = await propose()
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({ slug: 'creme-brulee-tasting', status: 'pending' })
    const [waiting] = await listProposals(database.reader, 'pending', 10)
    expect(waiting).toMatchObject({ slug: 'creme-brulee-tasting', surface: ['x402', 'olas'] })
    expect(await withAcceptedSkills(database.reader, [])).toEqual([])
    const id = String(answer.body['proposal_id'])
    const decidedAt = isoTime(service.clock.now())
    await database.write((tx) =>
      decideProposal(tx, id, { status: 'accepted', reason: null, decidedAt }),
    )
    expect(await withAcceptedSkills(database.reader, [])).toEqual([
      {
        slug: 'creme-brulee-tasting',
        name: 'Crème Brûlée Tasting',
        category: 'research-analysis',
        surface: ['x402', 'olas'],
        description: 'Tastes and reports.',
      },
    ])
    expectRefusal(await propose(), 409, 'conflict')
    const again = { status: 'rejected', reason: null, decidedAt } as const
    expect(await database.write((tx) => decideProposal(tx, id, again))).toBeNull()
  })

  test('proposing a skill of the taxonomy returns 409, and the skill keeps its description', async () => {
    expect((await propose({ name: 'API Reference Writing' })).status).toBe(409)
    expect((await propose({ name: 'api reference—WRITING' })).status).toBe(409)
  })

  test('taxonomy proposals are refused with an unknown surface or without a slug', async () => {
    expect((await propose({ name: '焼き鳥' })).status).toBe(400)
    const unknown = await propose({ surface: ['x402', 'no_such_rail'] })
    expectRefusal(unknown, 422, 'refused')
    expect(unknown.body['details']).toContain('no_such_rail')
    expect(await listProposals(service.actions.database.reader, 'pending', 10)).toEqual([])
  })

  test('taxonomy proposals are limited to ten an hour per network', async () => {
    for (let number = 1; number <= 10; number += 1) {
      const { status } = await propose({ name: `Skill ${number}` }, { agent: `agent/${number}` })
      expect(status).toBe(202)
    }
    const eleventh = await propose({ name: 'Skill 11' })
    expect(eleventh.status).toBe(429)
    expect(eleventh.headers.get('retry-after')).toBe('3600')
    expect((await propose({ name: 'Skill 11' }, { address: '198.51.100.8' })).status).toBe(202)
    service.clock.advance(hourMs)
    expect((await propose({ name: 'Skill 12' })).status).toBe(202)
  })
})
