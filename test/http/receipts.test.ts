import { describe, expect, test } from 'vitest'

import { receiptId, signingText } from '../../src/auth/messages.ts'
import { verifyReceipt } from '../../src/auth/verify-receipt.ts'
import { verifyScore } from '../../src/client/verify-score.ts'
import { acceptedReceipt, receiptDetail, receiptList } from '../../src/contract/schemas/receipt.ts'
import { reputation } from '../../src/contract/schemas/reputation.ts'
import { allGood } from '../../src/core/check.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { appendEntries } from '../../src/db/reputation.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { expectAppendOnly } from '../db/temp-database.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import {
  issued,
  platformActions,
  receiptFacts,
  submission,
  withPlatform,
  workerSigned,
} from '../support/receipts.ts'
import {
  atOnce,
  countRows,
  expectRefusal,
  readPages,
  registrationBody,
  statusCounts,
} from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const service = useService({
  options: async () => ({ actions: await platformActions(platformKey) }),
})
const platformKey = ed25519Key('platform')
const workerKey = ed25519Key('worker')
const alice = evmWallet('alice')
const payer = evmWallet('payer')
const path = '/api/v1/receipts'

const post = (body: object, headers: Record<string, string> = {}) =>
  service.postJson(path, body, headers)

const get = service.getJson
async function send(receipt: object, submitter: TestWallet = alice) {
  service.clock.advance(1)
  return await post(await submission(submitter, receipt, service.clock.now()))
}

const facts = (changes: object = {}) =>
  receiptFacts(alice, { from_wallet: payer.address, ...changes })

const sendIssued = (changes: object = {}) => send(issued(facts(changes), platformKey))

const total = (table: 'receipts' | 'reputation_ledger' | 'used_messages') =>
  countRows(service, table)

async function scoreOf(wallet: TestWallet) {
  const reader = nearWallet('reader')
  if ((await countRows(service, 'partners')) === 0) {
    await makePartner(service, reader, { handle: 'reader' })
  }
  const answer = await partnerClient(service, reader)('GET', `/api/v1/reputation/${wallet.address}`)
  expect(answer.status).toBe(200)
  return reputation.strict().parse(answer.body)
}

/** Expects the stored scores to equal the sums of their entries exactly. */
async function expectScoresHold(): Promise<void> {
  const { differences } = await recomputeScores(service.actions.database.reader)
  expect(differences).toEqual([])
}

describe('a platform-issued receipt', () => {
  test('a platform-issued receipt is verified and readable at once, and earns 30 % of its points', async () => {
    const receipt = issued(facts({ amount_usdc: '12.5', summary: 'Ein Bericht' }), platformKey)
    const made = await send(receipt)
    const id = receiptId(receipt)
    expect(made.status).toBe(201)
    const { log, ...accepted } = acceptedReceipt.strict().parse(made.body)
    expect(log.promise).toContain(`receipt ${id}`)
    expect(accepted).toEqual({
      receipt_id: id,
      accepted_at: new Date(service.clock.now()).toISOString(),
      kind: 'platform',
      verification: 'verified',
      onchain_verified: false,
      // 11.25 points for 12.5 USDC, of which evidence 0.8, a new payer 0.1, and 30 % count.
      rep_delta: 0.27,
      new_rep_score: 0.27,
      url: `https://ledger.test${path}/${id}`,
    })
    const { body } = await get(`${path}/${id}`)
    const detail = receiptDetail.strict().parse(body)
    expect(detail).toMatchObject({
      amount_usdc: 12.5,
      from_wallet: payer.address,
      to_wallet: alice.address,
      platform: 'example_board',
      occurred_at: '2026-11-20T12:00:00.000Z',
    })
    expect(receiptId(detail.content)).toBe(id)
    expect(detail.content).toEqual(receipt)
    await expectScoresHold()
  })

  test('a platform-issued receipt has one id and one effect, however often and by whomever submitted', async () => {
    const receipt = issued(facts(), platformKey)
    const first = await send(receipt)
    for (const submitter of [alice, payer, nearWallet('messenger')]) {
      const again = await send(receipt, submitter)
      expect(again.status).toBe(200)
      expect(again.body['receipt_id']).toBe(first.body['receipt_id'])
    }
    expect([await total('receipts'), await total('reputation_ledger')]).toEqual([1, 1])
  })

  test.each([
    ['the same submission sent 50 times', () => alice],
    ['50 submissions by different wallets', (at: number) => nearWallet(`messenger ${at}`)],
  ])('a platform-issued receipt has one effect in %s at once', async (_, submitter) => {
    const receipt = issued(facts(), platformKey)
    const bodies = await atOnce(50, (at) => submission(submitter(at), receipt, service.clock.now()))
    const answers = await Promise.all(bodies.map((body) => post(body)))
    expect(statusCounts(answers)).toEqual({ 200: 49, 201: 1 })
    expect([await total('receipts'), await total('reputation_ledger')]).toEqual([1, 1])
    await expectScoresHold()
  })

  test('a platform-issued receipt is refused after a change of any field, and nothing is written', async () => {
    const receipt = issued(facts({ summary: 'a', job_id: 'job-1' }), platformKey)
    const changes = [
      { amount_usdc: 11 },
      { amount_usdc: '10' },
      { to_wallet: payer.address },
      { to_wallet: alice.id },
      { from_wallet: alice.address },
      { rail: 'olas' },
      { summary: 'b' },
      { job_id: 'job-2' },
      { occurred_at: '2026-11-20T12:00:00Z' },
      { evidence_url: 'https://a.example/' },
      { chain: 'base' },
    ]
    for (const change of changes) {
      expectRefusal(await send({ ...receipt, ...change }), 401, 'signature_invalid')
    }
    expect([await total('receipts'), await total('used_messages')]).toEqual([0, 0])
  })

  test('a platform may also sign a receipt over the whole body', async () => {
    const nowMs = service.clock.now()
    const receipt = { ...facts(), platform: 'example_board', platform_signature: '' }
    const rest = { wallet: alice.address, timestamp: isoTime(nowMs), signature: '' }
    const platform_signature = platformKey.sign(signingText({ ...receipt, ...rest }))
    const body = await submission(alice, { ...receipt, platform_signature }, nowMs)
    const made = await post(body)
    const id = receiptId(receipt)
    expect(made).toMatchObject({ status: 201, body: { receipt_id: id } })
    // The receipt is published with all that the signature covers.
    const { content } = receiptDetail.parse((await get(`${path}/${id}`)).body)
    const keys = new Map([['example_board', platformKey.base64]])
    expect((await verifyReceipt(content, keys, id)).checks).toMatchObject([
      { what: 'receipt id', good: true },
      { what: 'signature of the platform example_board', good: true },
    ])
  })

  test('refuses a receipt of a platform that is unknown, revoked or not allowed for the rail', async () => {
    expectRefusal(await send(issued(facts(), platformKey, 'other_board')), 422, 'refused')
    expectRefusal(await sendIssued({ rail: 'near' }), 422, 'refused')
    const revoked = withPlatform(service.actions.reference(), platformKey, {
      revoked_at: '2026-11-21T06:00:00.000Z',
    })
    await service.restart({ actions: { reference: () => revoked } })
    expectRefusal(await sendIssued(), 401, 'signature_invalid')
    expect(await total('receipts')).toBe(0)
  })

  test('refuses a platform-issued receipt with another key or a malformed signature', async () => {
    const good = issued(facts(), platformKey)
    const { platform_signature: signature } = good
    const zeros = `ed25519:${Buffer.alloc(64).toString('base64')}`
    const { worker_signature: ofOtherFields } = workerSigned(facts(), platformKey)
    const { platform_signature: ofOtherKey } = issued(facts(), workerKey)
    for (const platform_signature of [zeros, ofOtherFields, ofOtherKey]) {
      expect((await send({ ...good, platform_signature })).status).toBe(401)
    }
    const [cut, longer] = [signature.slice(0, -1), `${signature}=`]
    for (const text of ['', 'ed25519:', cut, longer, signature.replace('ed25519', 'ed448')]) {
      expect((await send({ ...good, platform_signature: text })).status).toBe(400)
    }
  })
})

describe('a self-signed receipt', () => {
  test('a self-signed receipt is accepted, is not verified and earns nothing', async () => {
    const made = await send(workerSigned(facts(), workerKey))
    expect(made).toMatchObject({
      status: 201,
      body: { kind: 'signed', verification: 'unverified', rep_delta: 0, new_rep_score: 0 },
    })
    expect(await total('reputation_ledger')).toBe(0)
  })

  test('a self-signed receipt with a transaction is pending until verified on-chain', async () => {
    const tx_hash = `0x${'ab'.repeat(32)}`
    const made = await send(workerSigned(facts({ chain: 'arbitrum', tx_hash }), workerKey))
    expect(made).toMatchObject({
      status: 201,
      body: { verification: 'pending', explorer_url: `https://arbiscan.io/tx/${tx_hash}` },
    })
  })

  test('only its worker can submit a self-signed receipt', async () => {
    expectRefusal(await send(workerSigned(facts(), workerKey), payer), 403, 'forbidden')
  })

  test('a self-signed receipt must use the registered key of the worker, if there is one', async () => {
    const fields = { receipt_key: ed25519Key('registered').base64 }
    const body = await registrationBody(service, alice, fields)
    await service.postJson('/api/v1/workers/register', body)
    expectRefusal(await send(workerSigned(facts(), workerKey)), 403, 'forbidden')
    const right = await send(workerSigned(facts(), ed25519Key('registered')))
    expect(right.status).toBe(201)
  })

  test('refuses a self-signed receipt with a key of small order', async () => {
    const receipt = workerSigned(facts(), workerKey)
    const small = Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64')
    const answer = await send({ ...receipt, public_key: `ed25519:${small}` })
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: 'public_key' }] } })
  })
})

const evmPayment = { chain: 'base', tx_hash: `0x${'ab'.repeat(32)}` }

test.each([
  [{ rail: 'no_such_rail' }, 422],
  [{ occurred_at: '2026-11-21T06:30:00.000Z' }, 422],
  [{ chain: 'off-chain', tx_hash: `0x${'ab'.repeat(32)}` }, 400],
  [{ chain: 'base', tx_hash: `0x${'AB'.repeat(32)}` }, 400],
  [{ chain: 'base', tx_hash: 'ab'.repeat(32) }, 400],
  [{ chain: 'solana', tx_hash: `0x${'ab'.repeat(32)}` }, 400],
  [{ chain: 'base', tx_hash: 'zz' }, 400],
  [{ ...evmPayment, to_wallet: nearWallet('bob').address }, 422],
  [{ ...evmPayment, from_wallet: nearWallet('payer').address }, 422],
  [{ chain: 'cardano', tx_hash: 'ab'.repeat(32) }, 201],
  [{ job_id: 'pact-12' }, 201],
])('a receipt with %j returns %i', async (change, status) => {
  const answer = await send(issued(facts(change), platformKey))
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status })
})

describe('reputation', () => {
  test('a receipt earns less the more its payer has paid in the quarter, and nothing if paid to itself', async () => {
    const deltas: unknown[] = []
    for (let index = 0; index < 4; index += 1) {
      const { body } = await sendIssued({ summary: `${index}`, amount_usdc: 40 })
      deltas.push(body['rep_delta'])
    }
    // 10 + 15, 20, 10 + 2 and 4 points.
    expect(deltas).toEqual([0.6, 0.48, 0.288, 0.096])
    const own = await sendIssued({ from_wallet: alice.id, summary: 'own' })
    expect(own.body).toMatchObject({ verification: 'verified', rep_delta: 0 })
    const other = await sendIssued({ from_wallet: evmWallet('other').address })
    expect(other.body['rep_delta']).toBe(0.24)
    const score = await scoreOf(alice)
    const counts = { receipts_count: 5, total_usdc_lifetime: 170, entries_total: 6 }
    expect(score).toMatchObject({ ...counts, rank: 1 })
    expect(score.rep_score).toBeCloseTo(1.704, 5)
    const ownEntry = score.entries.find(({ weight }) => weight === 0)
    expect(ownEntry?.reason).toBe('payer and worker are one wallet')
    expect(score.entries.map((entry) => entry.paid_before_usdc)).toEqual([0, 0, 120, 80, 40, 0])
    await expectScoresHold()
  })

  test('reputation begins again at the first bracket in the next quarter', async () => {
    service.clock.advance(Date.UTC(2027, 0, 1) - 2 - service.clock.now())
    expect((await sendIssued({ summary: 'a', amount_usdc: 40 })).body['rep_delta']).toBe(0.6)
    service.clock.advance(1)
    expect((await sendIssued({ summary: 'b', amount_usdc: 40 })).body['rep_delta']).toBe(0.6)
  })

  test('reputation grows with the time for which the ledger knows the payer', async () => {
    const independence: unknown[] = []
    for (const days of [0, 29, 1, 59, 1]) {
      service.clock.advance(days * dayMs)
      await sendIssued({ summary: `${independence.length}` })
      independence.push((await scoreOf(alice)).entries[0]?.independence)
    }
    expect(independence).toEqual([0.1, 0.1, 0.2, 0.2, 0.4])
  })

  test('reputation counts one receipt of a transaction for each worker', async () => {
    expect((await sendIssued({ ...evmPayment, summary: 'a' })).body['rep_delta']).toBe(0.24)
    expect((await sendIssued({ ...evmPayment, summary: 'b' })).body).toMatchObject({
      verification: 'verified',
      rep_delta: 0,
    })
    const other = { ...evmPayment, to_wallet: evmWallet('bob').address, from_wallet: payer.address }
    expect((await send(issued(receiptFacts(alice, other), platformKey))).body['rep_delta']).toBe(
      0.24,
    )
  })

  test('reputation counts receipts without a payer as one payer per platform', async () => {
    const facts40 = { amount_usdc: 40 }
    const first = await send(issued(receiptFacts(alice, { ...facts40, summary: 'a' }), platformKey))
    const second = await send(
      issued(receiptFacts(alice, { ...facts40, summary: 'b' }), platformKey),
    )
    expect([first.body['rep_delta'], second.body['rep_delta']]).toEqual([0.6, 0.48])
  })

  test('reputation can be recomputed from the published entries', async () => {
    for (let index = 0; index < 5; index += 1) {
      await sendIssued({ amount_usdc: 2.123456 + index, summary: `${index}` })
      service.clock.advance(9 * dayMs)
    }
    const shown = await scoreOf(alice)
    const nowMs = Date.parse(shown.computed_at)
    const fresh = shown.entries.reduce((total, entry) => {
      const ageDays = (nowMs - Date.parse(entry.counts_from)) / dayMs
      return total + entry.delta * Math.exp(-ageDays / 60)
    }, 0)
    expect(shown.rep_score).toBeCloseTo(fresh, 5)
    expect(allGood(verifyScore(shown))).toBe(true)
    const [, second = { amount_usdc: 0, weight: 0 }] = shown.entries
    const delta = Math.floor(second.amount_usdc * second.weight * 300_000) / 1e6
    const forgeries = [{ delta: 0.2 }, { independence: 0.4 }, { paid_before_usdc: 0, delta }]
    for (const forgery of forgeries) {
      const entries = shown.entries.map((one, at) => (at === 1 ? { ...one, ...forgery } : one))
      const bad = verifyScore({ ...shown, entries }).filter(({ good }) => !good)
      expect(bad.map(({ what }) => what)).toContain('entries')
    }
  })

  test('reputation shows its last 50 entries, newest first', async () => {
    for (let index = 0; index < 52; index += 1) {
      await sendIssued({ summary: `${index}` })
    }
    const { entries, entries_total } = await scoreOf(alice)
    expect([entries.length, entries_total]).toEqual([50, 52])
    expect(entries.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 50 }, (_, index) => 52 - index),
    )
  })

  test('reputation is zero for an unknown wallet, and hidden without credentials', async () => {
    const score = await scoreOf(evmWallet('nobody'))
    expect(score).toMatchObject({ rep_score: 0, rank: null, entries: [] })
    const answer = await get(`/api/v1/reputation/${alice.address}`)
    expect([401, 402]).toContain(answer.status)
  })

  test('the reputation ledger is append-only, and recomputation detects changes', async () => {
    await sendIssued()
    const { database } = service.actions
    await expectAppendOnly(database, 'reputation_ledger')
    const { db } = database
    await db
      .updateTable('reputation')
      .set((eb) => ({ fresh_at_epoch: eb('fresh_at_epoch', '+', 1e-6) }))
      .execute()
    const { differences } = await recomputeScores(db)
    expect(differences).toMatchObject([{ wallet: alice.id, field: 'freshAtEpoch' }])
  })

  test('reputation ranks ties by the earlier first receipt, then by the wallet', async () => {
    const now = new Date(service.clock.now()).toISOString()
    const later = new Date(service.clock.now() + 1).toISOString()
    const { write } = service.actions.database
    for (const name of ['a', 'b', 'c']) {
      const wallet = nearWallet(name)
      const entry = {
        kind: 'receipt_verified',
        receiptId: null,
        payer: null,
        party: null,
        amountMicroUsdc: 5,
        paidBeforeMicroUsdc: 0,
        evidence: 10,
        independence: 4,
        percent: 100,
        valueMicroPoints: 2,
        reason: 'test',
        countsFrom: now,
        createdAt: name === 'a' ? later : now,
      } as const
      const { id, address } = wallet
      await write((tx) => appendEntries(tx, { id, display: address }, null, [entry]))
    }
    const [first = '', second = ''] = ['b', 'c'].map((name) => nearWallet(name).id).toSorted()
    const ranks: (number | null)[] = []
    for (const id of [first, second, nearWallet('a').id]) {
      ranks.push((await scoreOf({ ...alice, address: id })).rank)
    }
    expect(ranks).toEqual([1, 2, 3])
  })
})

test('the list of receipts is paged and filtered', async () => {
  for (let index = 0; index < 5; index += 1) {
    await sendIssued({ summary: `p${index}`, chain: 'base' })
  }
  await sendIssued({ rail: 'olas', chain: 'gnosis' })
  await send(workerSigned(facts(), workerKey))
  const pages = await readPages(service, path, '?limit=2')
  const lists = pages.map((page) => receiptList.strict().parse(page))
  for (const { count, receipts, total } of lists)
    expect([count, total]).toEqual([receipts.length, 7])
  const seen = lists.flatMap(({ receipts }) => receipts.map(({ receipt_id: id }) => id))
  expect([seen.length, new Set(seen).size]).toEqual([7, 7])
  const found = async (query: string) => (await get(`${path}?${query}`)).body['total']
  expect(await found('rail=olas')).toBe(1)
  expect(await found('chain=base')).toBe(6)
  expect(await found('status=unverified')).toBe(1)
  expect(await found(`wallet=${alice.id}`)).toBe(7)
  expect(await found(`wallet=${payer.address}`)).toBe(0)
  expect(await found(`since=${new Date(service.clock.now() - 2).toISOString()}`)).toBe(2)
})
