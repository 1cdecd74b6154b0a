/** Signed receipts: accepted on SQLite and PostgreSQL, published, and their checks alone. */
import { createHash } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { verifyAsync } from '@noble/ed25519'
import { verifyMessage } from 'viem'

import { railAdapters } from '../../../builder/rails/index.ts'
import { demoRulesFile } from '../../../builder/world/demo-rules.ts'
import type { SignatureCheck } from '../../../src/auth/check.ts'
import { hexData } from '../../../src/chain/values.ts'
import { evmSigner } from '../../../src/client/signers.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import { demoMarkerPath } from '../../../src/runtime/demo.ts'
import { openConnection, requestText } from '../../../test/support/keep-alive.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { newPostgresDatabase } from '../../../test/support/new-database.ts'
import { percentile } from '../../../test/support/percentile.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { boardSubmission, copyBoardData } from '../../../test/support/receipts.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import { ed25519Key, evmWallet, nearWallet, signedBody } from '../../../test/support/wallets.ts'
import type { Bench, BenchSettings, Suite } from '../bench.ts'
import { databaseIn, load, oneCheckThread, startPeer, startService, timed } from '../processes.ts'

const platformKey = ed25519Key('bench platform')
/** An Ethereum wallet that signs by WebAssembly; signing with viem would take five times as long. */
const workers = Array.from({ length: 500 }, async (_, at) => {
  const key = createHash('sha256').update(`bench worker ${at}`).digest()
  const { wallet, signMessage } = await evmSigner(key)
  const address = wallet.toLowerCase()
  return { address, id: address, sign: signMessage }
})

type Sign = (run: number, at: number) => Promise<string>

/** A receipt that a platform issued and a wallet submits. */
const receipt: Sign = async (run, at) => {
  const worker = (await workers[at % workers.length]) ?? evmWallet('unused')
  const body = await boardSubmission(run * 1e6 + at, Date.now(), worker, platformKey)
  return requestText({ path: pathOf('submitReceipt'), body })
}

const registration: Sign = async (run, at) => {
  const profile = { display_name: `Worker ${at}`, skills: ['agent-news-reporting'] }
  const wallet = nearWallet(`${run} ${at}`)
  const nowMs = Date.now()
  const body = JSON.stringify(await signedBody(wallet, 'register', profile, { nowMs }))
  return requestText({ path: pathOf('registerWorker'), body })
}

/** Each run sends other requests, all signed before the clock starts. */
function poster({ many }: BenchSettings) {
  let runs = 0
  return async (servers: Parameters<typeof load>[0], sign = receipt) => {
    runs += 1
    const requests = Array.from({ length: many(16_000) }, (_, at) => sign(runs, at))
    return await load(servers, await Promise.all(requests))
  }
}

/** Creates the folder of a ledger that lists the platform, and returns its settings. */
function listPlatform(dataDir: string): Readonly<Record<string, string>> {
  const authored = join(dataDir, 'authored')
  copyBoardData(authored, platformKey)
  const rules = railAdapters.map(({ rail, rule }) => ({ rail, rule }))
  writeFileSync(join(authored, demoRulesFile), JSON.stringify(rules))
  // Only a demo reads authored files from its own folder.
  writeFileSync(demoMarkerPath(dataDir), 'Made by `npm run bench`.\n')
  return { DEMO: 'on' }
}

export const writes: Suite = async (settings) => {
  const { dir, running } = settings
  const post = poster(settings)
  const env = listPlatform(join(dir, 'run'))
  const service = await running(startService(dir, { env }))
  // The bare service copies the rows of this first run.
  await post([service])
  let peers = 0
  const postToPeer = async () => {
    peers += 1
    const env = { SOURCE: databaseIn(dir), TARGET: join(dir, `bare-${peers}.db`) }
    return await post([await running(startPeer('bare-receipts', { env }))])
  }
  return {
    what: 'signed receipt',
    ours: () => post([service]),
    peer: ['bare service', postToPeer],
    targets: { cpuUs: ['mostRatio', 1.15], perSecond: ['leastRatio', 0.85] },
  }
}

export const postgres: Suite = async (settings) => {
  const { dir, running } = settings
  const post = poster(settings)
  const server = await running(startPostgres())
  const start = async (name: string, database = {}) => {
    const env = { ...listPlatform(join(dir, name, 'run')), ...database }
    for (const keys of name === 'sqlite' ? [] : ['run/keys', 'run/secrets']) {
      cpSync(join(dir, 'sqlite', keys), join(dir, name, keys), { recursive: true })
    }
    return await running(startService(join(dir, name), { env }))
  }
  const onSqlite = await start('sqlite')
  const mail = { SMTP_URL: 'smtp://127.0.0.1:1', SNAPSHOT_GIT_REMOTE: join(dir, 'archive') }
  const shared = { ...mail, DATABASE_URL: await newPostgresDatabase(server.url) }
  const first = await start('first', shared)
  const all = [first, await start('second', shared), await start('third', shared)]
  const { port } = await running(startTcpProxy(server.port, 1))
  const url = await newPostgresDatabase(server.url)
  const distant = { ...mail, DATABASE_URL: url.replace(`:${server.port}/`, `:${port}/`) }
  const far = await start('far', distant)
  return [
    {
      what: 'signed receipt, PostgreSQL',
      ours: () => post([first]),
      peer: ['SQLite', () => post([onSqlite])],
      targets: { perSecond: ['leastRatio', 0.9] },
    },
    {
      what: 'signed receipt, three replicas on PostgreSQL',
      ours: () => post(all),
      peer: ['one service, SQLite', () => post([onSqlite])],
      targets: { perSecond: ['leastRatio', 1.3] },
    },
    {
      what: 'registration, PostgreSQL behind 1 ms',
      ours: () => post([far], registration),
      targets: { perSecond: ['least', 500] },
    },
  ]
}

export const visible: Suite = async ({ dir, quick, receipts, running }) => {
  await fillLedger(databaseIn(dir), receipts)
  const env = { ...listPlatform(join(dir, 'run')), BUILDER: 'embedded' }
  // Before the first build the service reads the list from the database.
  const { address } = await running(startService(dir, { env, readyPath: '/snapshot.json' }))
  const { send } = await openConnection(address)
  const list = requestText({ path: pathOf('listReceipts') })
  let sent = 0
  const add = async (count: number) => {
    const times: number[] = []
    while (times.length < count) {
      sent += 1
      const { text } = await send(await receipt(0, sent))
      const startedMs = performance.now()
      const id = /rcp_[0-9a-f]{64}/.exec(text)?.[0]
      if (id === undefined) throw new Error(`refused: ${text}`)
      while (!(await send(list)).text.includes(id)) {
        if (performance.now() - startedMs > 60_000) throw new Error('not published in a minute')
        await sleep(10)
      }
      times.push(performance.now() - startedMs)
      // Spreads the receipts over the time between two builds.
      await sleep((sent * 137) % 1000)
    }
    return { p95Ms: percentile(times, 0.95) }
  }
  await add(3)
  return {
    what: 'signed receipt in its document',
    ours: () => add(quick ? 8 : 20),
    targets: { p95Ms: ['most', 700] },
  }
}

const message = `A receipt: ${'x'.repeat(500)}`

export const checks: Suite = async ({ many, running }) => {
  const { check, close } = oneCheckThread()
  await running(Promise.resolve({ stop: close }))
  const rate = async (checkOne: () => Promise<boolean>) => {
    const { result, ms } = await timed(() =>
      Promise.all(Array.from({ length: many(3000) }, checkOne)),
    )
    if (!result.every(Boolean)) throw new Error('invalid signature')
    return { perSecond: (result.length / ms) * 1000 }
  }
  type Library = readonly [name: string, check: () => Promise<boolean>]
  const against = (one: SignatureCheck, [name, verify]: Library, leastRatio: number): Bench => ({
    what: `check of a signature, ${one.scheme}`,
    ours: () => rate(async () => (await check(one)).valid),
    peer: [name, () => rate(verify)],
    targets: { perSecond: ['leastRatio', leastRatio] },
  })
  const { id, sign } = evmWallet('bench')
  const [address, signed] = [hexData.parse(id), hexData.parse(await sign(message))]
  const personal = { message, signature: signed, address }
  const { base64: publicKey, publicKey: rawKey, ...key } = ed25519Key('bench')
  const signature = key.sign(message)
  const bytes = [Buffer.from(signature, 'base64'), Buffer.from(message), rawKey] as const
  const byKey = { scheme: 'ed25519', message, signature, publicKey } as const
  // Starts the thread.
  await check(byKey)
  return [
    against({ scheme: 'eip191', ...personal }, ['viem', () => verifyMessage(personal)], 9),
    against(byKey, ['@noble/ed25519', () => verifyAsync(...bytes)], 10),
  ]
}
