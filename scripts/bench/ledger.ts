/**
 * A database with very many receipts, written by SQLite itself: rows as the service writes them, with invented
 * signatures.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

import sqlite3 from 'sqlite3'

import { openDatabase } from '../../src/db/open.ts'

export const workersCount = 100_000

/** Ids grow with the number of the receipt, so that rows are appended to each index, which is fast. */
const numbers = (count: number): string =>
  `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
const workerOf = `printf('0x%040x', i % ${workersCount})`
const timeOf = `strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i * 20, 'unixepoch')`
const receiptOf = `printf('rcp_%064x', i)`
const content = `printf('{"amount_usdc":%d,"asset_symbol":"USDC","from_wallet":"0x%040x","occurred_at":"%s","platform":"example_board","platform_signature":"ed25519:%088d","rail":"x402","summary":"Labelled a batch of pictures, number %d","to_wallet":"%s"}', 1 + i % 500, i % 997, ${timeOf}, i, i, ${workerOf})`

const statements = (count: number): readonly string[] => [
  `${numbers(count)} insert into receipts (id, kind, rail, chain, tx_hash, from_wallet, from_display, to_wallet,
     to_display, amount_micro_usdc, asset_symbol, occurred_at, summary, platform, submitter, content, verification,
     onchain, accepted_at)
   select ${receiptOf}, 'platform', 'x402', 'base', printf('0x%064x', i), printf('0x%040x', i % 997),
     printf('0x%040x', i % 997), ${workerOf}, ${workerOf}, 1000000 * (1 + i % 500), 'USDC', ${timeOf},
     printf('Labelled a batch of pictures, number %d', i), 'example_board', ${workerOf}, ${content}, 'verified',
     'verified', ${timeOf} from n`,
  `${numbers(count)} insert into reputation_ledger (wallet, receipt_id, kind, payer, party, amount_micro_usdc,
     paid_before_micro_usdc, evidence, independence, percent, value_micro_points, reason, counts_from, created_at)
   select ${workerOf}, ${receiptOf}, 'receipt_verified', printf('0x%040x', i % 997), printf('0x%040x', i % 997),
     1000000 * (1 + i % 500), 0, 8, 1, 30, 24000 * (1 + i % 500), 'issued by example_board', ${timeOf}, ${timeOf} from n`,
  `insert into reputation (wallet, display, solid_at_epoch, fresh_at_epoch, entries, receipts, lifetime_micro_usdc,
     first_receipt_at, last_receipt_at)
   select wallet, wallet, 0, sum(value_micro_points), count(*), count(*), sum(amount_micro_usdc), min(created_at),
     max(created_at) from reputation_ledger group by wallet`,
]

/** The id of the receipt with this number, from 1 on. */
export const receiptIdOf = (i: number): string => `rcp_${i.toString(16).padStart(64, '0')}`

/** The number of receipts of a large ledger. */
export const manyReceipts = (quick: boolean): number => (quick ? 100_000 : 1_000_000)

/** Writes a ledger with `receipts` receipts of up to 100,000 workers to `path`. */
export async function makeLedger(path: string, receipts: number): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  await (await openDatabase({ url: path })).close()
  const database = new sqlite3.Database(path)
  for (const statement of [
    'pragma synchronous = off; pragma cache_size = -400000; pragma temp_store = memory',
    ...statements(receipts),
    'pragma wal_checkpoint(truncate)',
  ]) {
    await settled((done) => database.exec(statement, done))
  }
  await settled((done) => database.close(done))
}

/** Resolves with the result of an operation of the driver, whose callbacks get an error or null. */
export function settled<Result = void>(
  start: (done: (error: Error | null, result: Result) => void) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    start((error, result) => (error === null ? resolve(result) : reject(error)))
  })
}
