import { expect, test } from 'vitest'
import { z } from 'zod'

import { feedDocuments } from '../../builder/documents/feeds.ts'
import { readStandings } from '../../builder/jobs/dispute-standings.ts'
import { gatherDisputes } from '../../builder/world/lists.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { followDispute, openDispute } from '../../src/db/disputes.ts'
import { openFlag } from '../../src/db/flags.ts'
import { selectRecords } from '../../src/db/records.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { atOnce, countOf, expectRefusal, statusCounts } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, signedBody, solanaWallet } from '../support/wallets.ts'
import { smallWorld } from '../support/world.ts'

const platformKey = ed25519Key('platform')
const service = useService({
  options: async () => ({
    trustedProxies: ['127.0.0.1'],
    actions: await platformActions(platformKey),
  }),
})
const alice = evmWallet('alice')
const bob = evmWallet('bob')
const disputes = '/api/v1/disputes'
const flagId = `flg_${'0a'.repeat(9)}`

async function addFlag(id = flagId, rail: string | null = 'x402'): Promise<string> {
  const flag = {
    kind: 'poll_failed',
    rail,
    subject: id,
    severity: 'info',
    title: 'A doubt',
  } as const
  const openedAt = isoTime(service.clock.now())
  await service.actions.database.write((tx) =>
    openFlag(tx, { ...flag, id, evidence: {}, openedAt }),
  )
  return id
}

async function acceptedReceipt(): Promise<string> {
  const receipt = issued(receiptFacts(alice), platformKey)
  const body = await submission(alice, receipt, service.clock.now())
  return z.string().parse((await service.postJson('/api/v1/receipts', body)).body['receipt_id'])
}

async function signed(fields: object, wallet = alice) {
  service.clock.advance(1)
  return await signedBody(wallet, 'dispute', fields, { nowMs: service.clock.now() })
}

const claimOf = (fields: object = {}) => ({
  target: { flag_id: flagId },
  claim: 'The poll was not answered by us.',
  ...fields,
})

async function open(fields: object = {}, wallet = alice, headers = {}) {
  const sent = await signed(claimOf(fields), wallet)
  const { status, body } = await service.postJson(disputes, sent, headers)
  expect([status, body['code']]).toEqual([201, undefined])
  return { id: z.string().parse(body['dispute_id']), body }
}

const follow = (
  id: string,
  event: 'answered' | 'upheld' | 'rejected' | 'withheld',
  text = 'Our words.',
) =>
  service.actions.database.write((tx) =>
    followDispute(tx, id, { event, at: isoTime(service.clock.now()), text }),
  )

test('a dispute is opened with its author, answered, and decided, with an entry of the log for each step', async () => {
  await addFlag()
  const { id, body } = await open({ figure: 'poll_error', evidence_url: 'https://a.example/x' })
  expect(body).toMatchObject({ state: 'open', standing: 'unknown', rail: 'x402' })
  expect(await follow(id, 'answered')).toBe(true)
  expect(await follow(id, 'upheld', 'You are right.')).toBe(true)
  const read = await service.getJson(`${disputes}/${id}`)
  const { steps } = z
    .object({ steps: z.array(z.looseObject({ step_id: z.string() })) })
    .parse(read.body)
  expect(read.body).toMatchObject({ state: 'upheld', wallet: alice.address, figure: 'poll_error' })
  expect(steps.map(({ event, text }) => [event, text])).toEqual([
    ['opened', 'The poll was not answered by us.'],
    ['answered', 'Our words.'],
    ['upheld', 'You are right.'],
  ])
  const queued = await service.actions.database.reader
    .selectFrom('log_queue')
    .select(['entry_id', 'sha256', 'subject'])
    .where('kind', '=', 'dispute')
    .orderBy('seq')
    .execute()
  expect(queued).toEqual(
    steps.map((step) => ({
      entry_id: step.step_id,
      sha256: sha256Hex(canonicalize(JSON.parse(JSON.stringify(step)))),
      subject: id,
    })),
  )
})

test('a dispute about a target that does not exist or is of another kind is refused, and nothing is stored', async () => {
  for (const target of [
    { flag_id: 'flg_00' },
    { receipt_id: `rcp_${'00'.repeat(32)}` },
    { path: '/api/v1/nothing', sha256: sha256Hex('x') },
    { path: `/evidence/${'00'.repeat(32)}.json`, sha256: '00'.repeat(32) },
  ]) {
    const answer = await service.postJson(disputes, await signed(claimOf({ target })))
    expectRefusal(answer, 422, 'refused')
  }
  const other = await signed(claimOf({ target: { handle: 'acme' } }))
  const message =
    'must have path and sha256 of a document, the flag_id of a flag, or the receipt_id of a receipt'
  expect(await service.postJson(disputes, other)).toMatchObject({
    status: 400,
    body: { issues: [{ path: 'target', message }] },
  })
  expect((await service.getJson(`${disputes}?limit=5`)).body).toMatchObject({ total: 0 })
})

test('a document is disputed by its path and the hash of its bytes', async () => {
  const path = '/api/v1/rails'
  const bytes = async () => await (await fetch(`${service.url}${path}`)).text()
  const before = sha256Hex(await bytes())
  const { body } = await open({ target: { path, sha256: before } })
  expect(body).toMatchObject({ target: { path, sha256: before }, standing: 'anyone' })
  expect(body['steps']).not.toMatchObject([{ target_is_current: false }])
})

test('a document that has changed since its reader saw it is disputed, and nothing says that the hash was ever published', async () => {
  const target = { path: '/api/v1/rails', sha256: '00'.repeat(32) }
  const { id, body } = await open({ target })
  expect(body).toMatchObject({ target, steps: [{ target, target_is_current: false }] })
  const words =
    'with a hash that was not published when the dispute was opened, and is not known to have been published before'
  for (const path of [`/disputes/${id}`, `/disputes/${id}.md`]) {
    expect(await (await fetch(service.url + path)).text()).toContain(words)
  }
})

test('a flood of disputes does not displace those of subjects and upheld ones, and only five of it are on the page of a receipt', async () => {
  const { database } = service.actions
  const target = { receipt_id: await acceptedReceipt() }
  const idOf = (at: number) => `dsp_${at.toString(16).padStart(24, '0')}`
  const write = (at: number, changes: object) => {
    const dispute = {
      id: idOf(at),
      wallet: `0x${at.toString(16).padStart(40, '0')}`,
      display: alice.address,
      target,
      rail: 'x402',
      standing: 'anyone',
      openedAt: isoTime(service.clock.now()),
      ...changes,
    } as const
    return database.write((tx) => openDispute(tx, dispute, { text: `Claim ${at}.` }))
  }
  await write(0, { standing: 'subject' })
  await write(1, { target: { flag_id: await addFlag() } })
  for (let at = 2; at < 110; at += 1) await write(at, { standing: at % 2 ? 'unknown' : 'anyone' })
  expect(await follow(idOf(2), 'upheld')).toBe(true)
  const shape = z.object({
    disputes: z.array(z.object({ claim: z.string() })),
    next_cursor: z.string().optional(),
  })
  const claims: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const page = shape.parse((await service.getJson(`${disputes}?limit=40${cursor}`)).body)
    claims.push(...page.disputes.map(({ claim }) => claim))
    cursor = page.next_cursor === undefined ? undefined : `&cursor=${page.next_cursor}`
  }
  const newestFirst = Array.from({ length: 109 }, (_, at) => `Claim ${109 - at}.`)
  const others = newestFirst.filter((claim) => claim !== 'Claim 2.')
  expect(claims).toEqual(['Claim 2.', 'Claim 0.', ...others])
  const gathered = await gatherDisputes(database, service.clock.now())
  expect(gathered.newest.map(({ claim }) => claim)).toEqual(claims)
  const feeds = feedDocuments()(smallWorld({ disputes: gathered }))
  const feed = feeds.find(({ path }) => path === '/feeds/disputes.json')
  expect(JSON.stringify(feed?.body)).toContain('Claim 0.')
  const page = await (await fetch(`${service.url}/receipts/${target.receipt_id}`)).text()
  expect(page.match(/Claim \d+\./g)).toEqual(claims.slice(0, 7))
  const [all = ''] = /\/api\/v1\/disputes\?target=\w+/.exec(page) ?? []
  const about = shape.parse((await service.getJson(`${all}&limit=200`)).body).disputes
  expect(about.map(({ claim }) => claim)).toEqual(claims.filter((claim) => claim !== 'Claim 1.'))
})

test('a withheld text is in no answer, and its step keeps the hash that the log has', async () => {
  await addFlag()
  const secret = {
    claim: 'Private words.',
    figure: 'private',
    evidence_url: 'https://private.example/x',
  }
  const { id } = await open(secret)
  expect(await follow(id, 'withheld', 'It names a person.')).toBe(true)
  expect(await follow(id, 'withheld')).toBe(false)
  expect(await follow(id, 'rejected')).toBe(true)
  const [entry] = await selectRecords(service.actions.database.reader, 'log_queue', {
    kind: 'dispute',
  }).execute()
  const { body } = await service.getJson(`${disputes}/${id}`)
  expect(body).toMatchObject({
    state: 'rejected',
    target: { flag_id: flagId },
    steps: [
      { step_id: entry?.entryId, event: 'opened', sha256: entry?.sha256, wallet: alice.address },
      { event: 'withheld', text: 'It names a person.' },
      { event: 'rejected' },
    ],
  })
  for (const path of [
    `${disputes}/${id}`,
    disputes,
    `${disputes}?limit=5`,
    `/disputes/${id}`,
    `/disputes/${id}.md`,
  ]) {
    expect(await (await fetch(service.url + path)).text()).not.toMatch(/private/i)
  }
  const gathered = await gatherDisputes(service.actions.database, service.clock.now())
  const feeds = feedDocuments()(smallWorld({ disputes: gathered }))
  expect(JSON.stringify([gathered, feeds])).not.toMatch(/private/i)
})

test('the key of a platform is the subject of a dispute about its own rail, and of no other', async () => {
  await addFlag()
  await addFlag('flg_0b', 'toku')
  const platform = solanaWallet('platform')
  expect((await open({}, platform)).body['standing']).toBe('subject')
  const other = await open({ target: { flag_id: 'flg_0b' } }, platform)
  expect(other.body['standing']).toBe('unknown')
})

test('one of two concurrent answers to a dispute is stored, and no step follows a decision', async () => {
  await addFlag()
  const { id } = await open()
  const answers = await atOnce(2, () => follow(id, 'answered'))
  expect(countOf(answers.map(Number))).toEqual({ 0: 1, 1: 1 })
  const decisions = await Promise.all([follow(id, 'upheld'), follow(id, 'rejected')])
  expect(countOf(decisions.map(Number))).toEqual({ 0: 1, 1: 1 })
  expect(await follow(id, 'answered')).toBe(false)
  const withdrawal = await signed({ dispute_id: id })
  expectRefusal(await service.postJson(`${disputes}/${id}/withdraw`, withdrawal), 409, 'conflict')
})

test('only the wallet that opened a dispute withdraws it, with a signature that names the dispute', async () => {
  await addFlag()
  const { id } = await open()
  const path = `${disputes}/${id}/withdraw`
  const byBob = await signed({ dispute_id: id }, bob)
  expectRefusal(await service.postJson(path, byBob), 403, 'forbidden')
  const other = await signed({ dispute_id: `dsp_${'00'.repeat(12)}` })
  expectRefusal(await service.postJson(path, other), 400, 'invalid_input')
  const unknown = `${disputes}/dsp_${'00'.repeat(12)}/withdraw`
  expectRefusal(await service.postJson(unknown, other), 404, 'unknown_dispute')
  const body = await signed({ dispute_id: id })
  const [first, again] = [await service.postJson(path, body), await service.postJson(path, body)]
  expect([first.status, first.body['state']]).toEqual([200, 'withdrawn'])
  expect(again).toEqual(first)
})

test('a repeated request opens one dispute, and a second dispute about the target is refused', async () => {
  await addFlag()
  const body = await signed(claimOf())
  const answers = await atOnce(3, () => service.postJson(disputes, body))
  expect(statusCounts(answers)).toEqual({ 200: 2, 201: 1 })
  const again = await service.postJson(disputes, await signed(claimOf()))
  expectRefusal(again, 409, 'conflict')
  expect(again.body['details']).toContain(`dispute ${String(answers[0]?.body['dispute_id'])} about`)
  const changed = { ...(await signed(claimOf(), bob)), claim: 'Other words.' }
  expectRefusal(await service.postJson(disputes, changed), 401, 'signature_invalid')
})

test('a wallet opens five disputes a day, and a network twenty', async () => {
  for (let at = 0; at < 6; at += 1) await addFlag(`flg_0${at}`)
  for (let wallet = 0; wallet < 4; wallet += 1) {
    for (let at = 0; at < 5; at += 1) {
      await open({ target: { flag_id: `flg_0${at}` } }, evmWallet(`wallet ${wallet}`))
    }
  }
  const sixth = claimOf({ target: { flag_id: 'flg_05' } })
  const ofWallet = await service.postJson(disputes, await signed(sixth, evmWallet('wallet 0')))
  expectRefusal(ofWallet, 429, 'rate_limited')
  expectRefusal(await service.postJson(disputes, await signed(sixth, bob)), 429, 'rate_limited')
  service.clock.advance(dayMs - hourMs)
  expectRefusal(await service.postJson(disputes, await signed(sixth, bob)), 429, 'rate_limited')
  service.clock.advance(hourMs)
  expect((await service.postJson(disputes, await signed(sixth, bob))).status).toBe(201)
})

test('the networks of one IPv6 /48 open 200 disputes a day together, however many wallets and /64s they use', async () => {
  const targets = [0, 1, 2, 3, 4].map((at) => ({ target: { flag_id: `flg_0${at}` } }))
  for (const { target } of targets) await addFlag(target.flag_id)
  const from = (address: string) => ({ 'X-Forwarded-For': address })
  for (let wallet = 0; wallet < 40; wallet += 1) {
    const network = from(`2001:db8:7:${wallet >> 2}::1`)
    for (const target of targets) await open(target, solanaWallet(`wallet ${wallet}`), network)
  }
  const next = await signed(claimOf(targets[0]), bob)
  const refused = await service.postJson(disputes, next, from('2001:db8:7:a::1'))
  expectRefusal(refused, 429, 'rate_limited')
  await open(targets[0], bob, from('2001:db8:8:a::1'))
})

test('a dispute that is open for 14 days shows as unanswered', async () => {
  await addFlag()
  const { id } = await open()
  service.clock.advance(14 * dayMs - 1)
  expect((await service.getJson(`${disputes}/${id}`)).body).not.toHaveProperty('unanswered')
  service.clock.advance(1)
  expect((await service.getJson(`${disputes}/${id}`)).body).toMatchObject({ unanswered: true })
  await follow(id, 'answered')
  expect((await service.getJson(`${disputes}/${id}`)).body).not.toHaveProperty('unanswered')
})

test('the list of disputes has filters and pages, and the page of a dispute escapes hostile text', async () => {
  await addFlag()
  await addFlag('flg_0b', null)
  const hostile = '<script>alert(1)</script> [x](javascript:alert(1)) https://evil.example'
  const { id } = await open({ claim: hostile, evidence_url: 'https://a.example/x' })
  await open({ target: { flag_id: 'flg_0b' } })
  const total = async (query: string) =>
    (await service.getJson(`${disputes}?${query}`)).body['total']
  expect([
    await total('rail=x402'),
    await total('status=open'),
    await total('status=upheld'),
  ]).toEqual([1, 2, 0])
  const page = await (await fetch(`${service.url}/disputes/${id}`)).text()
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(page).not.toContain('href="https://evil.example')
  expect(page).toContain('<a href="https://a.example/x" rel="nofollow noopener')
  expect((await gatherDisputes(service.actions.database, service.clock.now())).total).toBe(2)
})

test('a file on the site of a rail names its wallets, and reading it is retried after a failure', async () => {
  await addFlag()
  const mine = await open()
  const other = await open({}, bob)
  const standing = async (id: string) =>
    (await service.getJson(`${disputes}/${id}`)).body['standing']
  const { database, clock } = service.actions
  const asked: string[] = []
  const answering =
    (status: number, text: string): PinnedFetch =>
    (request) => {
      asked.push(request.url)
      return Promise.resolve({ status, contentType: null, body: Buffer.from(text) })
    }
  const read = (send: PinnedFetch) =>
    readStandings(
      { database, clock, send, userAgent: 'test', signal: new AbortController().signal },
      [{ rail: 'x402', reference_url: 'https://x402.example/about' }],
    )
  expect(await read(answering(503, ''))).toBe(0)
  expect(await standing(mine.id)).toBe('unknown')
  expect(await read(answering(200, JSON.stringify({ wallets: [alice.address, 'junk'] })))).toBe(2)
  expect([await standing(mine.id), await standing(other.id)]).toEqual(['subject', 'anyone'])
  expect(asked).toEqual(Array(2).fill('https://x402.example/.well-known/agent-income-ledger.json'))
})
