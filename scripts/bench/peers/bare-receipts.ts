/**
 * Receipts with the checks and rows of the service, and nothing else: no schema, no look-up, no limit, no signed promise.
 * SQLite copies the rows of each group from those that receipts left in the database of the service.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

import sqlite3 from 'sqlite3'
import { z } from 'zod'

import { createCheckThreads } from '../../../src/auth/check-threads.ts'
import { messages, sha256Hex, signingText } from '../../../src/auth/messages.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { settings } from '../../../src/db/sqlite3/engine.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { testService } from '../../../test/support/wallets.ts'
import { silentLog } from '../../demo/polls.ts'
import { settled } from '../ledger.ts'
import { platformKey } from '../signed-receipts.ts'

interface Submission {
  readonly wallet: string
  readonly timestamp: string
  readonly signature: string
  readonly platform_signature: string
}

const ofReceipts = 'from source.receipts where seq > $from and seq <= $to'
const rowsOf = {
  receipts: `select * ${ofReceipts}`,
  reputation_ledger: 'select * from source.reputation_ledger where seq > $from and seq <= $to',
  reputation: `select reputation.* from (select to_wallet ${ofReceipts})
    join source.reputation on wallet = to_wallet`,
  answers: 'select * from source.answers where rowid > $from and rowid <= $to',
  used_messages: 'select * from source.used_messages where rowid > $from and rowid <= $to',
  log_queue: 'select * from source.log_queue where seq > 2 * $from and seq <= 2 * $to',
}
const env = z
  .object({ PORT: z.coerce.number(), SOURCE: z.string(), TARGET: z.string() })
  .parse(process.env)

await (await openDatabase({ url: env.TARGET })).close()
const database = new sqlite3.Database(env.TARGET)
const execute = async (script: string) => await settled((done) => database.exec(script, done))
for (const [name, value] of Object.entries(settings)) await execute(`pragma ${name} = ${value}`)
await execute(`attach '${env.SOURCE}' as source`)
const worker = pathToFileURL(join(packageRoot, 'dist/src/auth/check-worker.js'))
const { check } = createCheckThreads(worker, { cores: 2, log: silentLog })

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
    const range = [`${stored}`, `${(stored += group.length)}`] as const
    const inserts = Object.entries(rowsOf).map(
      ([table, rows]) =>
        `insert or replace into ${table} ${rows.replaceAll('$from', range[0]).replaceAll('$to', range[1])};`,
    )
    await execute(`begin immediate; ${inserts.join(' ')} commit`)
    for (const resolve of group) resolve()
  }
  isStoring = false
}

async function isSigned(body: Submission): Promise<boolean> {
  const { wallet, timestamp, signature, platform_signature: issued, ...facts } = body
  const signed = { ...facts, platform_signature: '' }
  const bodySha256 = sha256Hex(signingText({ ...signed, wallet, timestamp, signature }))
  const message = messages.receipt(testService, { wallet, timestamp, bodySha256 })
  const verdicts = await Promise.all([
    check({ scheme: 'eip191', message, signature, address: wallet }),
    check({
      scheme: 'ed25519',
      message: signingText(signed),
      signature: issued.slice('ed25519:'.length),
      publicKey: platformKey.base64,
    }),
  ])
  return verdicts.every(({ valid }) => valid)
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the peer has no schema
  const isGood = await isSigned(JSON.parse(await text(req)) as Submission)
  if (isGood) await store()
  const body = isGood ? '{"status":"verified"}' : '{"error":"bad_signature"}'
  res.writeHead(isGood ? 201 : 401, { 'Content-Length': body.length }).end(body)
}

createServer((req, res) => {
  if (req.method === 'POST') void answer(req, res)
  else res.end('ok')
}).listen(env.PORT, '127.0.0.1')
