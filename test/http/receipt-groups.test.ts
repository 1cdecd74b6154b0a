/** Receipts sent at once share their statements; what they come to is what they would have come to one by one. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { findReceipt } from '../../src/db/receipts.ts'
import { recomputeScores, standingOf } from '../../src/db/reputation.ts'
import { loadReference } from '../../src/reference.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import {
  issued,
  receiptFacts,
  submission,
  withPlatform,
  workerSigned,
} from '../support/receipts.ts'
import { ed25519Key, evmWallet, nearWallet } from '../support/wallets.ts'

const platformKey = ed25519Key('platform')
const workers = [evmWallet('alice'), nearWallet('bob')] as const
const payers = [evmWallet('payer'), nearWallet('other payer'), workers[0]] as const
const answerModel = z.object({
  receipt_id: z.string(),
  rep_delta: z.number(),
  new_rep_score: z.number(),
})

let published: PublicDir
let together: Service
let apart: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  const reference = withPlatform(await loadReference('data'), platformKey)
  const start = () => startService(published.dir, { actions: { reference: () => reference } })
  together = await start()
  apart = await start()
})
afterAll(async () => {
  await together.stop()
  await apart.stop()
  await published.remove()
})

interface Sent {
  readonly body: string
  readonly key: string | null
}

/** Many of one payer, some from the worker's own wallet, some signed by the worker alone, and repeats of all kinds. */
async function requests(): Promise<readonly Sent[]> {
  const sent: Sent[] = []
  const nowMs = together.clock.now()
  for (let at = 0; at < 60; at += 1) {
    const worker = workers[at % 2 === 0 ? 0 : 1]
    const from = payers[at % 3]?.address
    const facts = receiptFacts(worker, { from_wallet: from, amount_usdc: 1 + at, summary: `${at}` })
    const receipt =
      at % 5 === 4 ? workerSigned(facts, ed25519Key('key')) : issued(facts, platformKey)
    const body = JSON.stringify(await submission(worker, receipt, nowMs + at))
    const key = at % 4 === 0 ? `key ${at}`.replace(' ', '-') : null
    sent.push({ body, key })
    // The same request again, and the same receipt in another request.
    if (at % 7 === 0) sent.push({ body, key })
    if (at % 11 === 0) {
      sent.push({
        body: JSON.stringify(await submission(worker, receipt, nowMs + 90 + at)),
        key: null,
      })
    }
  }
  return sent
}

async function post(service: Service, { body, key }: Sent) {
  const headers = {
    'Content-Type': 'application/json',
    ...(key === null ? {} : { 'Idempotency-Key': key }),
  }
  const answer = await fetch(`${service.url}/api/v1/receipts`, { method: 'POST', headers, body })
  expect([200, 201]).toContain(answer.status)
  return { status: answer.status, body: answerModel.parse(await answer.json()) }
}

test('receipts sent at once come to the same as one after the other', async () => {
  const sent = await requests()
  const atOnce = await Promise.all(sent.map((one) => post(together, one)))
  // In the order in which the others were taken in.
  const { reader } = together.actions.database
  const seqs = new Map<string, number>()
  for (const { body } of atOnce) {
    const record = await findReceipt(reader, body.receipt_id)
    seqs.set(body.receipt_id, record?.seq ?? Number.NaN)
  }
  const order = sent
    .map((one, at) => ({ one, id: atOnce[at]?.body.receipt_id ?? '' }))
    .sort((left, right) => (seqs.get(left.id) ?? 0) - (seqs.get(right.id) ?? 0))
  for (const { one } of order) await post(apart, one)

  expect(atOnce.filter(({ status }) => status === 201)).toHaveLength(60)
  const tables = async ({ actions }: Service) => {
    const db = actions.database.reader
    return {
      receipts: await db.selectFrom('receipts').selectAll().orderBy('seq').execute(),
      entries: await db.selectFrom('reputation_ledger').selectAll().orderBy('seq').execute(),
      standings: await Promise.all(workers.map(({ id }) => standingOf(db, id))),
      keys: await db.selectFrom('idempotency_keys').selectAll().orderBy('key').execute(),
      differences: (await recomputeScores(db)).differences,
    }
  }
  const [one, other] = [await tables(together), await tables(apart)]
  expect(one.receipts).toHaveLength(60)
  expect(one.differences).toEqual([])
  expect(one).toEqual(other)
})
