/** Two services on one database, as after a deployment that did not stop the old service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { boardReceipt, installBoardProgram } from '../../e2e/board.ts'
import { createClients } from '../../e2e/clients.ts'
import { addressOf, newLedger, useProgram } from '../../e2e/ledger.ts'
import type { Ledger } from '../../e2e/ledger.ts'
import { wholeReceipts } from '../../e2e/whole-receipts.ts'
import type { Running } from '../../support/program.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { nearWallet, signedBody } from '../../support/wallets.ts'

allowSlowTests('starts the compiled program')

const program = useProgram(installBoardProgram)
let ledger: Ledger
let services: readonly Running[]
let urls: readonly string[]

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off' })
  expect(await ledger.builder(['--once']).ended).toBe(0)
  // Both start at once: one of them waits while the other creates the schema.
  services = [1, 2].map(() => ledger.service({ BUILDER: 'off', LIMITS: 'on' }))
  urls = await Promise.all(services.map(addressOf))
})
afterAll(async () => {
  for (const service of services) service.kill('SIGTERM')
  for (const { ended } of services) expect(await ended).toBe(0)
  ledger.remove()
})

const answer = z.looseObject({ code: z.string().optional() })

async function post(url: string, path: string, raw: string) {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: raw })
  return { status: response.status, body: answer.parse(await response.json()) }
}

describe('two services on one database', () => {
  test('two services on one database store concurrent writes exactly once', async () => {
    const before = (await wholeReceipts(ledger)).size
    const sides = urls.map((url) => ({ url, clients: createClients(4) }))
    const answers = await Promise.all(sides.map(({ url, clients }) => clients.post(url, 15)))
    expect(answers.flat().map(({ status }) => status)).toEqual(answers.flat().map(() => 201))
    expect((await wholeReceipts(ledger)).size).toBe(before + answers.flat().length)
  })

  test('two services on one database accept the same receipt once, whichever it reaches first', async () => {
    for (let at = 0; at < 10; at += 1) {
      const raw = await boardReceipt(100_000 + at)
      const answers = await Promise.all(urls.map((url) => post(url, '/api/v1/receipts', raw)))
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201])
    }
    await wholeReceipts(ledger)
  })

  test('two services on one database accept a signed statement once and repeat the first answer', async () => {
    for (let at = 0; at < 5; at += 1) {
      const wallet = nearWallet(`two services ${at}`)
      const profile = { display_name: `worker ${at}`, skills: ['agent-news-reporting'] }
      const body = await signedBody(wallet, 'register', profile, { nowMs: Date.now() })
      const raw = JSON.stringify(body)
      const answers = await Promise.all(
        urls.map((url) => post(url, '/api/v1/workers/register', raw)),
      )
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201])
      expect(answers[0]?.body).toEqual(answers[1]?.body)
    }
  })

  test('two services on one database count rate limits separately', async () => {
    const [first = '', second = ''] = urls
    let status = 200
    let requests = 0
    while (status === 200) {
      status = (await fetch(`${first}/api/v1/rails`)).status
      requests += 1
    }
    expect(status).toBe(429)
    expect(requests).toBeGreaterThan(60)
    expect((await fetch(`${second}/api/v1/rails`)).status).toBe(200)
  })
})
