/** A score with more entries than one answer shows, recomputed from all of them. */
import { beforeAll, expect, test } from 'vitest'

import { createClient } from '../../src/client/client.ts'
import { parseSecretKey, secretKeyText, signerOf } from '../../src/client/signers.ts'
import { fetchWholeReputation } from '../../src/client/verify-score.ts'
import { hourMs } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { runCommand } from '../support/command-line.ts'
import { makePartner } from '../support/partners.ts'
import { issued, platformActions, receiptFacts, submission } from '../support/receipts.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet, testService } from '../support/wallets.ts'

const worker = evmWallet('worker')
const platformKey = ed25519Key('platform')
const receipts = 230
const secret = secretKeyText('near', Buffer.alloc(32, 9))

const signer = await signerOf(parseSecretKey(secret))
const service = useService({
  per: 'file',
  options: async () => ({ actions: await platformActions(platformKey) }),
})

async function earn(from: number, to: number): Promise<void> {
  const numbers = Array.from({ length: to - from }, (_, at) => from + at)
  await Promise.all(
    numbers.map(async (number) => {
      const facts = receiptFacts(worker, {
        amount_usdc: `${number}.5`,
        from_wallet: evmWallet(`payer ${number % 7}`).address,
      })
      const body = await submission(worker, issued(facts, platformKey), service.clock.now())
      expect(await service.postJson('/api/v1/receipts', body)).toMatchObject({ status: 201 })
    }),
  )
}

beforeAll(async () => {
  const { id } = parseWallet(signer.wallet)
  const wallet = { ...evmWallet('unused'), id, address: signer.wallet }
  await makePartner(service, wallet, { handle: 'reader' })
  for (let from = 0; from < receipts; from += 46) {
    await earn(from, from + 46)
    service.clock.advance(9 * hourMs)
  }
}, 60_000)

function readReputation(query: { limit?: string; cursor?: string | undefined } = {}) {
  const client = createClient({
    baseUrl: service.url,
    serviceName: testService,
    clock: service.clock,
    random: systemRandom,
    fetch,
    signer,
  })
  return client.call('getReputation', { params: { wallet: worker.address }, query })
}

const verifyScore = () =>
  runCommand(
    ['score', 'verify', worker.address],
    { LEDGER_URL: service.url, LEDGER_KEY: secret, LEDGER_SERVICE: testService },
    { clock: service.clock, fetch },
  )

test('a reputation shows its last 50 entries, and the cursor leads to the others', async () => {
  const first = await readReputation()
  expect([first.entries.length, first.entries_total]).toEqual([50, receipts])
  const whole = await fetchWholeReputation((query) => readReputation(query))
  const numbers = whole.entries.map(({ seq }) => seq)
  expect(numbers).toHaveLength(receipts)
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a))
  expect(new Set(numbers).size).toBe(receipts)
  expect(whole.entries.slice(0, 50)).toEqual(first.entries)
  const last = await readReputation({ limit: '200', cursor: first.next_cursor })
  expect([last.entries.length, last.next_cursor]).toEqual([receipts - 50, undefined])
})

test('entries that are added while pages are read appear on none of them', async () => {
  let pages = 0
  const whole = await fetchWholeReputation(async (query) => {
    const page = await readReputation(query)
    pages += 1
    if (pages === 1) await earn(receipts, receipts + 1)
    return page
  })
  expect(whole.entries).toHaveLength(whole.entries_total)
})

test('score verify recomputes the score from every entry and detects a changed score', async () => {
  const good = await verifyScore()
  expect([good.code, good.err]).toEqual([0, ''])
  expect(good.out).toContain(`${receipts + 1} of ${receipts + 1}`)
  await service.actions.database.write((tx) =>
    tx
      .updateTable('reputation')
      .set({ fresh_at_epoch: 1 })
      .where('wallet', '=', worker.id)
      .execute(),
  )
  const bad = await verifyScore()
  expect(bad.code).not.toBe(0)
})

test('a reputation is refused for the cursor of another list', async () => {
  const cursor = Buffer.from('workers.7').toString('base64').replaceAll('=', '')
  await expect(readReputation({ cursor })).rejects.toThrow('The cursor is not valid')
})
