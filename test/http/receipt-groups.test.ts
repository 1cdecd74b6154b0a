/** Receipts that arrive together are stored together, with the same result as one by one. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'

import type { Outcome } from '../../src/actions/idempotency.ts'
import { acceptGroup } from '../../src/actions/receipt-acceptance.ts'
import type { Submission } from '../../src/actions/receipt-acceptance.ts'
import { draftReceipt } from '../../src/actions/receipt-draft.ts'
import { acceptSingleReceipt } from '../../src/actions/receipt-submission.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { platformReceiptBody } from '../../src/contract/schemas/receipt.ts'
import type { JsonObject } from '../../src/core/canonical-json.ts'
import { minuteMs } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import type { Service } from '../support/http-service.ts'
import { onPostgres } from '../support/new-database.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { requestJson } from '../support/requests.ts'
import { useServices } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'

const platformKey = ed25519Key('platform')
const workers = [evmWallet('alice'), nearWallet('bob')] as const
const payers = [evmWallet('payer'), nearWallet('other payer'), workers[0]] as const
const services = useServices()
const startOne = async () => services.start({ actions: await platformActions(platformKey) })

async function tablesOf({ actions }: Service) {
  const db = actions.database.reader
  return {
    receipts: await db.selectFrom('receipts').selectAll().orderBy('seq').execute(),
    entries: await db.selectFrom('reputation_ledger').selectAll().orderBy('seq').execute(),
    sums: await db
      .selectFrom('payer_sums')
      .selectAll()
      .orderBy('wallet')
      .orderBy('party')
      .execute(),
    payers: await db.selectFrom('payers').selectAll().orderBy('wallet').execute(),
    reviews: await db.selectFrom('reputation_reviews').selectAll().orderBy('receipt_id').execute(),
    standings: await db.selectFrom('reputation').selectAll().orderBy('wallet').execute(),
    answers: await db.selectFrom('answers').selectAll().orderBy('id').execute(),
    messages: await db.selectFrom('used_messages').selectAll().orderBy('message_sha256').execute(),
    keys: await db.selectFrom('idempotency_keys').selectAll().orderBy('key').execute(),
    differences: (await recomputeScores(db)).differences,
  }
}

/** Few different receipts, submitters, messages, requests and keys, so that most of them repeat. */
const drawn = fc.record({
  receipt: fc.nat(11),
  submitter: fc.nat(1),
  message: fc.option(fc.nat(3), { freq: 2 }),
  request: fc.option(fc.nat(2), { freq: 3 }),
  key: fc.option(fc.nat(2), { freq: 2 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer Value> ? Value : never

const texts = ['Größe "in" \\ Zoll', '🧾 日本語', '\uFFFD<&>', "it's; --", '{"a":1}'] as const

async function submissionOf(one: Drawn, at: number, service: Service): Promise<Submission> {
  const worker = workers[one.receipt % 2 === 0 ? 0 : 1]
  const from = [...payers, undefined][one.receipt % 4]?.address
  const facts = receiptFacts(worker, {
    amount_usdc: `${one.receipt}.00000${one.receipt % 10}`,
    summary: `${texts[one.receipt % texts.length]} ${one.receipt}`,
    ...(from === undefined ? {} : { from_wallet: from }),
    ...(one.receipt < 6 ? {} : { chain: 'near', tx_hash: '5'.repeat(43) }),
  })
  const submitter = workers[one.submitter === 0 ? 0 : 1]
  const nowMs = service.clock.now() + at
  const sent = await submission(submitter, issued(facts, platformKey), nowMs)
  const json: JsonObject = { ...sent }
  const proof = {
    wallet: parseWallet(submitter.address),
    messageSha256: sha256Hex(`message ${one.message ?? `unique ${at}`}`),
    signatureSha256: sha256Hex(sent.signature),
    timestampMs: nowMs,
    // The same message has the same signed time.
    expiresAtMs: (one.message === null ? nowMs : service.clock.now()) + 10 * minuteMs,
    timely: true,
  }
  const draft = await draftReceipt(service.actions, {
    body: platformReceiptBody.parse(json),
    json,
    nowMs,
  })
  const request = {
    requestSha256: sha256Hex(`request ${one.request ?? `unique ${at}`}`),
    nowMs,
    idempotencyKey: one.key === null ? null : `key-${one.key}`,
    remoteKey: () => 'remote',
    network: null,
    chargeOutbound: () => () => undefined,
    chargeStorage: () => undefined,
  }
  return { request, proof, draft }
}

/** Accepts a receipt outside of a group; returns the outcome or the code of the refusal. */
async function acceptSingle({ actions }: Service, receipt: Submission): Promise<Outcome | string> {
  return await acceptSingleReceipt(actions, receipt).catch((error: unknown) => {
    if (error instanceof ApiError) return error.code
    throw error
  })
}

test('a group of receipts has the same result as its receipts one by one, with any repetition', async () => {
  const groups = fc.array(fc.array(drawn, { minLength: 1, maxLength: 9 }), { maxLength: 5 })
  const results = new Set<number | string>()
  const repeatedGroup = [
    { receipt: 1, submitter: 0, message: 0, request: 0, key: 0 },
    { receipt: 1, submitter: 0, message: 0, request: 0, key: 0 },
    { receipt: 2, submitter: 0, message: 0, request: 1, key: null },
    { receipt: 3, submitter: 0, message: null, request: 1, key: 0 },
    { receipt: 3, submitter: 1, message: null, request: null, key: 0 },
  ]
  await fc.assert(
    fc.asyncProperty(groups, async (drawnGroups) => {
      const [grouped, single] = [await startOne(), await startOne()]
      let at = 0
      for (const group of drawnGroups) {
        const submissions: Submission[] = []
        for (const receipt of group)
          submissions.push(await submissionOf(receipt, (at += 1), grouped))
        const outcomes = await grouped.actions.database.write((tx) =>
          acceptGroup(tx, submissions, grouped.actions.site.url),
        )
        const pairs = [...submissions.entries()].map(
          ([index, receipt]) => [receipt, outcomes[index]] as const,
        )
        for (const [receipt, outcome] of pairs.filter(([, outcome]) => outcome !== null)) {
          results.add('grouped')
          expect(await acceptSingle(single, receipt)).toEqual(outcome)
        }
        // Receipts that the group leaves out are accepted or refused after it.
        for (const [receipt] of pairs.filter(([, outcome]) => outcome === null)) {
          const outcome = await acceptSingle(grouped, receipt)
          results.add(typeof outcome === 'string' ? outcome : outcome.status)
          expect(await acceptSingle(single, receipt)).toEqual(outcome)
        }
      }
      const tables = await tablesOf(grouped)
      expect(tables.differences).toEqual([])
      expect(tables).toEqual(await tablesOf(single))
      await grouped.stop()
      await single.stop()
    }),
    { numRuns: 10, endOnFailure: true, examples: [[[repeatedGroup]]] },
  )
  const expected = ['grouped', 200, 'idempotency_key_reused', 'signature_reused']
  expect([...results]).toEqual(expect.arrayContaining(expected))
})

const poisoned = onPostgres
  ? [
      `create function poison() returns trigger language plpgsql as
        $$ begin if new.summary = 'poison' then raise exception 'poisoned'; end if; return new; end $$`,
      'create trigger poison before insert on receipts for each row execute function poison()',
    ]
  : [
      `create trigger poison before insert on receipts when new.summary = 'poison'
        begin select raise(abort, 'poisoned'); end`,
    ]

test('a receipt that cannot be written is refused alone, and the rest of its group is accepted', async () => {
  const service = await startOne()
  const { database } = service.actions
  for (const statement of poisoned) await sql.raw(statement).execute(database.db)
  const send = async (body: object) =>
    (await requestJson(service, '/api/v1/receipts', { body })).status
  const bodies: object[] = []
  for (let at = 0; at < 30; at += 1) {
    const summary = at % 10 === 5 ? 'poison' : `${at}`
    const facts = receiptFacts(workers[0], { amount_usdc: 1 + at, summary })
    const receipt = issued(facts, platformKey)
    bodies.push(await submission(workers[0], receipt, service.clock.now() + at))
  }
  const answers = await Promise.all(bodies.map(send))
  expect(answers).toEqual(bodies.map((_, at) => (at % 10 === 5 ? 500 : 201)))
  const { receipts, entries, messages, differences } = await tablesOf(service)
  expect([receipts.length, entries.length, messages.length]).toEqual([27, 27, 27])
  let paid = 0
  for (const entry of entries) {
    expect(entry.paid_before_micro_usdc).toBe(paid)
    paid += entry.amount_micro_usdc
  }
  expect(differences).toEqual([])
  await sql.raw(`drop trigger poison${onPostgres ? ' on receipts' : ''}`).execute(database.db)
  expect(await send(bodies[5] ?? {})).toBe(201)
})
