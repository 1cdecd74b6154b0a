/**
 * `<source database> <target database> <group> <count>`: the rows that receipts left in the source, written anew to an
 * empty database of the same schema and settings, in transactions of `group` receipts: one prepared statement for
 * each table inserts the rows of the whole group. Prints receipts for each second and its CPU time.
 */
import sqlite3 from 'sqlite3'

import { openDatabase, settings } from '../../../src/db/open.ts'

type Value = string | number | null

const [sourcePath = '', targetPath = '', ...numbers] = process.argv.slice(2)
const [group = 1, count = 0] = numbers.map(Number)

const written = await rowsOf(sourcePath)
await (await openDatabase({ url: targetPath })).close()
const database = await opened(targetPath)
for (const [name, value] of Object.entries(settings)) await run(`pragma ${name} = ${value}`)

const names = ['receipts', 'reputation_ledger', 'reputation', 'used_messages'] as const
const columnsOf = new Map(names.map((name) => [name, Object.keys(written[0]?.[name] ?? {})]))
const groups = Array.from({ length: Math.floor(written.length / group) }, (_, at) =>
  written.slice(at * group, (at + 1) * group),
)
const statements = await Promise.all(
  names.map(async (name) => {
    const columns = columnsOf.get(name) ?? []
    const places = `(${columns.map(() => '?').join(', ')})`
    const verb = name === 'reputation' ? 'insert or replace' : 'insert'
    const values = Array.from({ length: group }, () => places).join(', ')
    return await prepared(`${verb} into ${name} (${columns.join(', ')}) values ${values}`)
  }),
)
const parameters = groups.map((rows) =>
  names.map((name) => rows.flatMap((row) => Object.values(row[name]))),
)

const cpu = process.cpuUsage()
const startedMs = performance.now()
for (const ofGroup of parameters) {
  await run('begin immediate')
  for (const [at, statement] of statements.entries()) await insert(statement, ofGroup[at] ?? [])
  await run('commit')
}
const elapsedMs = performance.now() - startedMs
const { user, system } = process.cpuUsage(cpu)
const done = parameters.length * group
const result = { perSecond: (done / elapsedMs) * 1000, cpuUs: (user + system) / done }
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)

type Rows = Readonly<Record<(typeof names)[number], Readonly<Record<string, Value>>>>

async function rowsOf(path: string): Promise<readonly Rows[]> {
  const { reader, close } = await openDatabase({ url: path, readOnly: true })
  const receipts = await reader.selectFrom('receipts').selectAll().limit(count).execute()
  const entries = await reader.selectFrom('reputation_ledger').selectAll().limit(count).execute()
  const used = await reader.selectFrom('used_messages').selectAll().limit(count).execute()
  const standings = await reader.selectFrom('reputation').selectAll().execute()
  await close()
  const ofReceipt = new Map(entries.map((entry) => [entry.receipt_id, entry]))
  const ofWallet = new Map(standings.map((standing) => [standing.wallet, standing]))
  return receipts.map((receipt, at) => {
    const [entry, message] = [ofReceipt.get(receipt.id), used[at]]
    const standing = ofWallet.get(receipt.to_wallet)
    if (entry === undefined || message === undefined || standing === undefined) {
      throw new Error(`${path} does not hold what a receipt leaves`)
    }
    const { seq: _receiptSeq, ...receiptColumns } = receipt
    const { seq: _entrySeq, ...entryColumns } = entry
    return {
      receipts: receiptColumns,
      reputation_ledger: entryColumns,
      reputation: standing,
      used_messages: message,
    }
  })
}

function opened(path: string): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const database = new sqlite3.Database(path, (error) =>
      error === null ? resolve(database) : reject(error),
    )
  })
}

function run(sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    database.run(sql, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })
}

function prepared(sql: string): Promise<sqlite3.Statement> {
  return new Promise((resolve, reject) => {
    const statement = database.prepare(sql, (error: Error | null) =>
      error === null ? resolve(statement) : reject(error),
    )
  })
}

function insert(statement: sqlite3.Statement, values: readonly Value[]): Promise<void> {
  return new Promise((resolve, reject) => {
    statement.run(values, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })
}
