import sqlite3 from 'sqlite3'

import { openDatabase } from '../../../src/db/open.ts'
import { settings } from '../../../src/db/sqlite3/engine.ts'
import { settled } from '../ledger.ts'
import { rateOf } from '../task.ts'

const ofReceipts = 'from source.receipts where seq > $from and seq <= $to'
const rowsOf = {
  receipts: `select * ${ofReceipts}`,
  reputation_ledger: 'select * from source.reputation_ledger where seq > $from and seq <= $to',
  reputation: `select reputation.* from (select to_wallet ${ofReceipts})
    join source.reputation on wallet = to_wallet`,
  answers: 'select * from source.answers where rowid > $from and rowid <= $to',
  used_messages: 'select * from source.used_messages where rowid > $from and rowid <= $to',
}

/**
 * Copies the rows of `count` receipts to a new database with the same schema and settings, in transactions of `group`
 * receipts, without a row of JavaScript.
 */
export async function run(source: string, target: string, group: number, count: number) {
  await (await openDatabase({ url: target })).close()
  const database = new sqlite3.Database(target)
  const execute = async (script: string) => await settled((done) => database.exec(script, done))
  for (const [name, value] of Object.entries(settings)) await execute(`pragma ${name} = ${value}`)
  await execute(`attach '${source}' as source`)
  const transactions = Array.from({ length: Math.floor(count / group) }, (_, at) => {
    const inserts = Object.entries(rowsOf).map(([table, rows]) => {
      const chosen = rows
        .replaceAll('$from', `${at * group}`)
        .replaceAll('$to', `${(at + 1) * group}`)
      return `insert or replace into ${table} ${chosen};`
    })
    return `begin immediate; ${inserts.join(' ')} commit`
  })
  const { perSecond, cpuUs } = await rateOf(transactions, execute)
  const { changes } = await settled<{ changes: number }>((done) => {
    database.get('select total_changes() as changes', done)
  })
  if (changes < transactions.length * group * 5) throw new Error('a receipt has no row in a table')
  await settled((done) => database.close(done))
  return { perSecond: perSecond * group, cpuUs: cpuUs / group }
}
