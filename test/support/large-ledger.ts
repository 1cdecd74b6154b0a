/** A ledger of very many receipts of 100,000 registered workers, written by SQLite itself: always the same rows. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

import sqlite3 from 'sqlite3'

import { openDatabase } from '../../src/db/open.ts'

const workersCount = 100_000
/** One check per this many receipts. */
const checkedEvery = 5

/** Most receipts are of the first value, few of the last, as on real rails. */
export const rails = ['x402', 'olas', 'near', 'ugig', 'toku', 'pact'] as const
export const chains = ['base', 'arbitrum', 'ethereum', 'gnosis'] as const
export const statuses = ['verified', 'pending', 'unverified', 'rejected'] as const
export const workerOf = (number: number): string => `0x1${number.toString(16).padStart(39, '0')}`

/** Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): as if at random. */
const primes = {
  worker: 2_654_435_761,
  payer: 2_246_822_519,
  amount: 3_266_489_917,
  rail: 668_265_263,
  chain: 374_761_393,
  status: 1_013_904_223,
} as const
const random = (of: keyof typeof primes, below: number): string =>
  `((i * ${primes[of]} & 4294967295) * ${below} >> 32)`
const oneOf = (of: keyof typeof primes, values: readonly string[]): string =>
  `case ${values
    .slice(0, -1)
    .map((value, at) => `when ${random(of, 1000)} >= ${Math.floor(400 / 4 ** at)} then '${value}'`)
    .join(' ')} else '${values.at(-1)}' end`

const numbers = (count: number): string =>
  `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
const timeOf = (everySeconds: number): string =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + i * ${everySeconds}, 'unixepoch')`
const id = `printf('rcp_%064x', i)`
const worker = `printf('0x1%039x', ${random('worker', workersCount)} + 1)`
const payer = `printf('0x2%039x', ${random('payer', 997)})`
const amount = `1000000 * (1 + ${random('amount', 500)})`
const hash = `case when i % ${checkedEvery} = 0 then printf('0x%064x', i) end`
const content = `printf('{"amount_usdc":10,"asset_symbol":"USDC","platform":"example_board","platform_signature":"ed25519:%088d","rail":"x402","summary":"Labelled a batch of pictures, number %d","to_wallet":"%s"}', i, i, ${worker})`

const statements = (receipts: number): readonly string[] => [
  `${numbers(workersCount)} insert into workers (seq, wallet, display, display_name, skills, registered_at, updated_at)
   select i, printf('0x1%039x', i), printf('0x1%039x', i), printf('Worker %d', i), '["technical-writing"]', ${timeOf(200)}, ${timeOf(200)} from n`,
  `insert into worker_skills (skill, worker_seq) select 'technical-writing', seq from workers`,
  `${numbers(receipts)} insert into receipts (id, kind, rail, chain, tx_hash, from_wallet, from_display, to_wallet,
     to_display, amount_micro_usdc, asset_symbol, occurred_at, summary, platform, submitter, content, verification,
     onchain, onchain_checked_at, accepted_at)
   select ${id}, 'platform', ${oneOf('rail', rails)}, ${oneOf('chain', chains)}, ${hash}, ${payer}, ${payer}, ${worker}, ${worker},
     ${amount}, 'USDC', ${timeOf(20)}, printf('Labelled a batch of pictures, number %d', i), 'example_board', ${worker},
     ${content}, ${oneOf('status', statuses)}, case when i % ${checkedEvery} = 0 then 'verified' else 'none' end,
     case when i % ${checkedEvery} = 0 then ${timeOf(20)} end, ${timeOf(20)} from n`,
  `insert into receipt_checks (receipt_id, chain, tx_hash, verdict, block_number, block_hash, block_at, log_index, payer, attempts,
     consecutive_not_found, verdict_at, checked_at)
   select id, chain, tx_hash, 'final', seq, tx_hash, accepted_at, 0, from_wallet, 1, 0, accepted_at, accepted_at from receipts where tx_hash is not null`,
  `insert into reputation_ledger (wallet, receipt_id, kind, payer, party, amount_micro_usdc, paid_before_micro_usdc,
     evidence, independence, percent, value_micro_points, reason, counts_from, created_at)
   select to_wallet, id, 'receipt_verified', from_wallet, from_wallet, amount_micro_usdc, 0, 8, 1, 30, amount_micro_usdc * 24 / 1000,
     'issued by example_board', accepted_at, accepted_at from receipts where verification = 'verified'`,
  `insert into reputation (wallet, display, solid_at_epoch, fresh_at_epoch, entries, receipts, lifetime_micro_usdc,
     first_receipt_at, last_receipt_at)
   select wallet, wallet, 0, sum(value_micro_points), count(*), count(*), sum(amount_micro_usdc), min(created_at), max(created_at)
   from reputation_ledger group by wallet`,
]

/** Fills a new database with the schema of this program; indexes and triggers are made again when the rows are there. */
export async function fillLedger(path: string, receipts = 1_000_000): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  await (await openDatabase({ url: path })).close()
  const database = new sqlite3.Database(path)
  const run = (sql: string) => settled((done) => database.exec(sql, done))
  const left = await settled<{ type: string; name: string; sql: string }[]>((done) =>
    database.all(
      "select type, name, sql from sqlite_schema where type in ('index', 'trigger') and sql is not null",
      done,
    ),
  )
  await run('pragma synchronous = off; pragma cache_size = -400000; pragma temp_store = memory')
  await run(left.map(({ type, name }) => `drop ${type} ${name}`).join(';'))
  for (const statement of statements(receipts)) await run(`begin; ${statement}; commit`)
  await run(left.map(({ sql }) => sql).join(';'))
  await run('pragma wal_checkpoint(truncate)')
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
