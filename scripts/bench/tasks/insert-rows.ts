/**
 * `<source database> <target database> <group> <count>`: writes the rows of that many receipts to a new database with the
 * same schema and settings, in transactions of `group` receipts. One prepared statement for each table inserts the rows of
 * the whole group.
 */
import sqlite3 from 'sqlite3'

import { openDatabase, settings } from '../../../src/db/open.ts'
import { settled } from '../ledger.ts'
import { numberArgument, rateOf, report, textArgument } from '../task.ts'

type Rows = readonly Readonly<Record<string, string | number | null>>[]

const [group, count] = [numberArgument(2), numberArgument(3)]
const newest = `from receipts order by seq limit ${count}`
/** One row for each receipt. `seq` is assigned anew. */
const tables = {
  receipts: `select * ${newest}`,
  reputation_ledger: `select * from reputation_ledger order by seq limit ${count}`,
  reputation: `select reputation.* from (select to_wallet ${newest}) join reputation on wallet = to_wallet`,
  used_messages: `select * from used_messages limit ${count}`,
}

const source = new sqlite3.Database(textArgument(0), sqlite3.OPEN_READONLY)
await (await openDatabase({ url: textArgument(1) })).close()
const target = new sqlite3.Database(textArgument(1))
for (const [name, value] of Object.entries(settings)) await run(`pragma ${name} = ${value}`)

const inserts = await Promise.all(
  Object.entries(tables).map(async ([table, select]) => {
    const rows = (await selected(select)).map(({ seq: _seq, ...row }) => row)
    if (rows.length < count) throw new Error(`${table} has no row for each receipt`)
    const columns = Object.keys(rows[0] ?? {})
    const places = Array.from({ length: group }, () => `(${columns.map(() => '?').join(', ')})`)
    const sql = `insert or replace into ${table} (${columns.join(', ')}) values ${places.join(', ')}`
    const statement = await settled<sqlite3.Statement>((done) => {
      const prepared = target.prepare(sql, (error: Error | null) => done(error, prepared))
    })
    return { statement, values: rows.map((row) => Object.values(row)) }
  }),
)
const groups = Array.from({ length: Math.floor(count / group) }, (_, at) =>
  inserts.map(({ statement, values }) => ({
    statement,
    values: values.slice(at * group, (at + 1) * group).flat(),
  })),
)
const { perSecond, cpuUs } = await rateOf(groups, async (statements) => {
  await run('begin immediate')
  for (const { statement, values } of statements) {
    await settled((done) => statement.run(values, (error: Error | null) => done(error)))
  }
  await run('commit')
})
report({ perSecond: perSecond * group, cpuUs: cpuUs / group })

async function run(sql: string): Promise<void> {
  await settled((done) => target.run(sql, (error: Error | null) => done(error)))
}

async function selected(sql: string): Promise<Rows> {
  return await settled<Rows>((done) => {
    source.all(sql, (error: Error | null, rows: Rows) => done(error, rows))
  })
}
