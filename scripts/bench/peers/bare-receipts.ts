/**
 * Accepts receipts with the checks and rows of the service, but without schemas, lookups, limits and signed promises.
 * SQLite copies the rows of each group from the database of the service, which accepted the same receipts before.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import sqlite3 from 'sqlite3'

import { messages, sha256Hex, signingText } from '../../../src/auth/messages.ts'
import { createSerialQueue } from '../../../src/core/concurrency.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { settings } from '../../../src/db/sqlite3/engine.ts'
import { settled } from '../../../test/support/large-ledger.ts'
import { ed25519Key, testService } from '../../../test/support/wallets.ts'
import { oneCheckThread } from '../processes.ts'

type Submission = Record<'wallet' | 'timestamp' | 'signature' | 'platform_signature', string>

const { PORT, SOURCE = '', TARGET = '' } = process.env
await (await openDatabase({ url: TARGET })).close()
const database = new sqlite3.Database(TARGET)
const execute = (script: string) => settled((done) => database.exec(script, done))
for (const [name, value] of Object.entries(settings)) await execute(`pragma ${name} = ${value}`)
await execute(`attach '${SOURCE}' as source`)
const { check } = oneCheckThread()
const { base64: publicKey } = ed25519Key('bench platform')

/** Rows of a receipt in each table. */
const rows = { receipts: 1, reputation_ledger: 1, answers: 1, used_messages: 1, log_queue: 2 }
const inTurn = createSerialQueue()
let [stored, waiting] = [0, 0]
let group = Promise.resolve()

/** Stores a row for each receipt that has arrived since the group before, and the reputation of their wallets. */
async function storeGroup(): Promise<void> {
  const [from, to] = [stored, stored + waiting]
  ;[stored, waiting] = [to, 0]
  const copy = (table: string, where: string) =>
    `insert or replace into ${table} select * from source.${table} where ${where};`
  const within = (each: number) => `rowid > ${each * from} and rowid <= ${each * to}`
  const wallets = `wallet in (select to_wallet from source.receipts where ${within(1)})`
  const copies = Object.entries(rows).map(([table, each]) => copy(table, within(each)))
  await execute(`begin immediate; ${copies.join('')} ${copy('reputation', wallets)} commit`)
}

/** Resolves after the commit of the group. */
async function store(): Promise<void> {
  waiting += 1
  if (waiting === 1) group = inTurn(storeGroup)
  await group
}

/** @throws Error for an invalid signature */
async function checkSignatures(body: Submission): Promise<void> {
  const { wallet, timestamp, signature, platform_signature: issued, ...facts } = body
  const signed = { ...facts, platform_signature: '' }
  const bodySha256 = sha256Hex(signingText({ ...signed, wallet, timestamp, signature }))
  const message = messages.receipt(testService, { wallet, timestamp, bodySha256 })
  const receipt = { message: signingText(signed), signature: issued.slice('ed25519:'.length) }
  const verdicts = await Promise.all([
    check({ scheme: 'eip191', message, signature, address: wallet.toLowerCase() }),
    check({ scheme: 'ed25519', ...receipt, publicKey }),
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
