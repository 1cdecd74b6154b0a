import { beforeEach, expect, test } from 'vitest'

import { gatherCommunity } from '../../builder/world/community.ts'
import type { CommunityMemory } from '../../builder/world/community.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { NewReceipt } from '../../src/db/receipts/receipts.ts'
import { insertRecord, updateRecord } from '../../src/db/records.ts'
import { putWorker } from '../../src/db/workers.ts'
import { tempDatabase } from '../db/temp-database.ts'
import { onPostgres } from '../support/new-database.ts'
import { receiptRow, storeReceipt } from '../support/receipts.ts'
import type { ReceiptChanges } from '../support/receipts.ts'
import { evmWallet, nearWallet } from '../support/wallets.ts'

const startMs = Date.UTC(2026, 10, 21, 6)
const siteUrl = 'https://ledger.test'
let database: OpenDatabase

beforeEach(async () => {
  database = await tempDatabase()
})

function receipt(name: string, worker: string, changes: Partial<ReceiptChanges> = {}): NewReceipt {
  return receiptRow(startMs, {
    id: `rcp_${Buffer.from(name).toString('hex').padStart(64, '0')}`,
    from: parseWallet(evmWallet(`payer of ${name}`).address),
    to: parseWallet(evmWallet(worker).address),
    ...changes,
  })
}

const accept = (draft: NewReceipt) => database.write((tx) => storeReceipt(tx, draft))
const gather = (nowMs = startMs) => gatherCommunity(database, { siteUrl, nowMs })

async function register(name: string): Promise<void> {
  const wallet = parseWallet(nearWallet(name).address)
  const facts = {
    skills: ['a'],
    url: null,
    bio: null,
    receiptKey: null,
    agent: null,
    displayName: null,
  }
  await database.write((tx) => putWorker(tx, { wallet, now: isoTime(startMs), ...facts }))
}

test('lists contain the first page, totals count everything', async () => {
  for (let index = 0; index < 51; index += 1) {
    await register(`worker ${index}`)
    await accept(receipt(`r${index}`, 'alice'))
  }
  const community = await gather()
  expect(community).toMatchObject({ workersTotal: 51, receiptsTotal: 51, receiptsVerified: 51 })
  expect(community.workers).toHaveLength(50)
  expect(community.receipts).toHaveLength(50)
  expect(community.workers[0]?.wallet).toBe(nearWallet('worker 50').address)
  expect(community.workersNext).not.toBe(null)
  expect(community.receiptsNext).not.toBe(null)
})

test('totals that grow from build to build do not count receipts that were undone', async () => {
  const memory: CommunityMemory = { receipts: null }
  const totals = async () => {
    const { receiptsTotal, receiptsVerified } = await gatherCommunity(
      database,
      { siteUrl, nowMs: startMs },
      memory,
    )
    return { receiptsTotal, receiptsVerified }
  }
  for (let accepted = 1; accepted <= 3; accepted += 1) {
    // On PostgreSQL, it leaves a gap in the numbers.
    const undone = database.write(async (tx) => {
      await storeReceipt(tx, receipt(`undone ${accepted}`, 'alice'))
      throw new Error('undone')
    }, [])
    await expect(undone).rejects.toThrow('undone')
    await accept(receipt(`kept ${accepted}`, 'alice'))
    expect(await totals()).toEqual({ receiptsTotal: accepted, receiptsVerified: accepted })
  }
  if (onPostgres) expect(memory.receipts?.newestSeq).toBeGreaterThan(3)
})

test('totals that grow from build to build follow receipts whose transaction is checked', async () => {
  const memory: CommunityMemory = { receipts: null }
  const hash = (last: string) => `0x${last.padStart(64, '0')}`
  const waiting = { chain: 'base', verification: 'pending', onchain: 'pending' } as const
  await accept(receipt('claimed', 'alice', { kind: 'signed', verification: 'unverified' }))
  await accept(receipt('first', 'alice', { kind: 'signed', txHash: hash('1'), ...waiting }))
  const second = receipt('second', 'alice', { kind: 'signed', txHash: hash('2'), ...waiting })
  for (const [verification, onchain, verified] of [
    ['pending', 'pending', 0],
    ['verified', 'verified', 1],
    ['rejected', 'failed', 0],
  ] as const) {
    const changed = { verification, onchain }
    await database.write((tx) => updateRecord(tx, 'receipts', { txHash: hash('1') }, changed))
    if (verification === 'verified') await accept(second)
    const grown = await gatherCommunity(database, { siteUrl, nowMs: startMs }, memory)
    expect(grown.receiptsVerified).toBe(verified)
    expect(grown).toEqual(await gather())
  }
})

test('the leaderboard names claimed and registered workers and omits workers without receipts', async () => {
  const alice = parseWallet(evmWallet('alice').address)
  const bob = parseWallet(evmWallet('bob').address)
  await accept(receipt('one', 'alice'))
  await accept(receipt('two', 'bob', { amountMicroUsdc: 20_000_000 }))
  await accept(receipt('own', 'carol', { from: parseWallet(evmWallet('carol').address) }))
  await accept(receipt('self-signed', 'dave', { kind: 'signed', verification: 'unverified' }))
  await database.write((tx) =>
    insertRecord(tx, 'claims', {
      wallet: bob.id,
      displayName: 'Bob',
      method: 'wallet',
      emailHash: null,
      claimedAt: isoTime(startMs),
    }),
  )
  const { leaderboard } = await gather()
  expect(leaderboard).toEqual([
    {
      rank: 1,
      wallet: bob.display,
      display_name: 'Bob',
      claimed: true,
      claim: 'key',
      rep_score: 0.36,
      receipts_count: 1,
      total_usdc_lifetime: 20,
      last_receipt_at: isoTime(startMs),
    },
    expect.objectContaining({ rank: 2, wallet: alice.display, display_name: null, claimed: false }),
  ])
})

test('scores stay the same for a day and then decay, archived scores change with facts alone', async () => {
  await accept(receipt('one', 'alice'))
  const now = await gather(startMs)
  const later = await gather(startMs + 17 * hourMs)
  const nextDay = await gather(startMs + dayMs)
  expect(later.leaderboard).toEqual(now.leaderboard)
  expect(nextDay.leaderboard[0]?.rep_score).toBeLessThan(now.leaderboard[0]?.rep_score ?? 0)
  expect(nextDay.leaderboardArchived).toEqual(now.leaderboardArchived)
  await accept(receipt('two', 'alice', { acceptedAt: isoTime(startMs + dayMs) }))
  const after = await gather(startMs + dayMs)
  expect(after.leaderboardArchived).not.toEqual(now.leaderboardArchived)
})
