/**
 * Accepts receipts with the checks and rows of the service, but without schemas, lookups, limits and signed promises.
 * SQLite copies the rows of each group from the database of the service, which accepted the same receipts before.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import sqlite3 from 'sqlite3'

import { messages, sha256Hex, signingText } from '../../../src/auth/messages.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { settings } from '../../../src/db/sqlite3/engine.ts'
import { settled } from '../../../test/support/large-ledger.ts'
import { testService } from '../../../test/support/wallets.ts'
import { oneCheckThread } from '../processes.ts'
import { platformKey } from '../receipts.ts'

type Submission = Record<'wallet' | 'timestamp' | 'signature' | 'platform_signature', string>

const insertsOf = (from: number, to: number): string => {
  const insert = (table: string, rows: string) => `insert or replace into ${table} ${rows};`
  const copy = (table: string, each: number) =>
    insert(
      table,
      `select * from source.${table} where rowid > ${each * from} and rowid <= ${each * to}`,
    )
  const wallets = `select to_wallet from source.receipts where rowid > ${from} and rowid <= ${to}`
  const tables = ['receipts', 'reputation_ledger', 'answers', 'used_messages']
  return [
    ...tables.map((table) => copy(table, 1)),
    copy('log_queue', 2),
    insert('reputation', `select * from source.reputation where wallet in (${wallets})`),
  ].join(' ')
}
const { PORT, SOURCE = '', TARGET = '' } = process.env

await (await openDatabase({ url: TARGET })).close()
const database = new sqlite3.Database(TARGET)
const execute = async (script: string) => await settled((done) => database.exec(script, done))
for (const [name, value] of Object.entries(settings)) await execute(`pragma ${name} = ${value}`)
await execute(`attach '${SOURCE}' as source`)
const { check } = oneCheckThread()

let stored = 0
let waiting: (() => void)[] = []
let isStoring = false

/** Resolves after the commit of the group. */
async function store(): Promise<void> {
  const done = new Promise<void>((resolve) => waiting.push(resolve))
  if (isStoring) return await done
  isStoring = true
  while (waiting.length > 0) {
    const group = waiting
    waiting = []
    await execute(`begin immediate; ${insertsOf(stored, stored + group.length)} commit`)
    stored += group.length
    for (const resolve of group) resolve()
  }
  isStoring = false
}

/** @throws Error for an invalid signature */
async function checkSignatures(body: Submission): Promise<void> {
  const { wallet, timestamp, signature, platform_signature: issued, ...facts } = body
  const signed = { ...facts, platform_signature: '' }
  const bodySha256 = sha256Hex(signingText({ ...signed, wallet, timestamp, signature }))
  const message = messages.receipt(testService, { wallet, timestamp, bodySha256 })
  const receipt = { message: signingText(signed), signature: issued.slice('ed25519:'.length) }
  const verdicts = await Promise.all([
    check({ scheme: 'eip191', message, signature, address: wallet }),
    check({ scheme: 'ed25519', ...receipt, publicKey: platformKey.base64 }),
  ])
  if (!verdicts.every(({ valid }) => valid)) throw new Error('invalid signature')
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the peer has no schema
  await checkSignatures(JSON.parse(await text(req)) as Submission)
  await store()
  res.writeHead(201, { 'Content-Length': 2 }).end('{}')
}

createServer((req, res) => {
  if (req.method === 'POST') void answer(req, res)
  else res.end('ok')
}).listen(Number(PORT), '127.0.0.1')
