/** Signed receipts: accepted on SQLite and PostgreSQL, listed and published by large ledgers, and their checks alone. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { verifyAsync } from '@noble/ed25519'
import { verifyMessage } from 'viem'

import type { SignatureCheck } from '../../../src/auth/check.ts'
import { hexData } from '../../../src/chain/values.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import { p99Of, sendSteadily } from '../../../test/support/clients.ts'
import { openConnection, requestText } from '../../../test/support/keep-alive.ts'
import { newPostgresDatabase } from '../../../test/support/new-database.ts'
import { percentile } from '../../../test/support/percentile.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { boardSubmission, listBoard } from '../../../test/support/receipts.ts'
import { startLedger } from '../../../test/support/server-process.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import { ed25519Key, evmWallet, fastEvmWallet } from '../../../test/support/wallets.ts'
import { nearWallet, signedBody } from '../../../test/support/wallets.ts'
import type { Bench, BenchSettings, Suite } from '../bench.ts'
import { databaseIn, load, oneCheckThread, repeat, startPeer, timed } from '../processes.ts'

const platformKey = ed25519Key('bench platform')
const workers = Array.from({ length: 500 }, (_, at) => fastEvmWallet(`bench worker ${at}`))

/** A receipt that a platform issued and a wallet submits. */
async function receipt(run: number, at: number): Promise<string> {
  const worker = (await workers[at % workers.length]) ?? evmWallet('unused')
  const body = await boardSubmission(run * 1e6 + at, Date.now(), worker, platformKey)
  return requestText({ path: pathOf('submitReceipt'), body })
}

async function registration(run: number, at: number): Promise<string> {
  const profile = { display_name: `Worker ${at}`, skills: ['agent-news-reporting'] }
  const nowMs = Date.now()
  const body = await signedBody(nearWallet(`${run} ${at}`), 'register', profile, { nowMs })
  return requestText({ path: pathOf('registerWorker'), body: JSON.stringify(body) })
}

/** Each run sends other requests, all signed before the clock starts. */
function poster({ many }: Pick<BenchSettings, 'many'>, count = 8000, clients = 64) {
  let runs = 0
  return async (servers: Parameters<typeof load>[0], sign = receipt) => {
    runs += 1
    const requests = Array.from({ length: many(count) }, (_, at) => sign(runs, at))
    return await load(servers, await Promise.all(requests), clients)
  }
}

/** Returns the settings of a ledger that lists the platform. */
const boardIn = (dir: string) => listBoard(join(dir, 'run'), platformKey)

export const writes: Suite = async (settings) => {
  const { dir, running } = settings
  const post = poster(settings)
  const service = await running(startLedger(dir, { env: boardIn(dir) }))
  // The bare service copies the rows of this first run.
  await post([service])
  let peers = 0
  const postToPeer = async () => {
    peers += 1
    const env = { SOURCE: databaseIn(dir), TARGET: join(dir, `bare-${peers}.db`) }
    return await post([await running(startPeer('bare-receipts', { env }))])
  }
  const sides = { ours: () => post([service]), peer: ['bare service', postToPeer] } as const
  const targets = { cpuUs: { mostRatio: 1.15 }, perSecond: { leastRatio: 0.85 } }
  return [{ what: 'signed receipt', ...sides, targets }]
}

export const lists: Suite = async (settings) => {
  const { dir, many, fill, running } = settings
  await fill()
  const service = await running(startLedger(dir, { env: boardIn(dir) }))
  const peer = await running(startPeer('raw-http', { env: { DATABASE: databaseIn(dir) } }))
  const all = ['verified', 'unverified'].map((status) => {
    const path = `${pathOf('listReceipts')}?limit=50&chain=base&status=${status}`
    const sides = repeat([service, ['its rows without a total', peer]], { path }, many(2000), 1)
    return { what: `list of ${status} receipts on Base`, path, ...sides }
  })
  const steadily = async () => {
    const texts = { lists: all.map(({ path }) => requestText({ path })) }
    const options = { everyMs: 1000 / 64, over: AbortSignal.timeout(many(8000)) }
    return { p99Ms: p99Of((await sendSteadily(service.address, texts, options))['lists']) }
  }
  const emptyDir = join(dir, 'empty')
  const empty = await running(startLedger(emptyDir, { env: boardIn(emptyDir) }))
  const post = poster(settings, 2000, 1)
  const one = { ours: () => post([service]), peer: ['a new ledger', () => post([empty])] } as const
  return [
    ...all.map((sides) => ({ ...sides, targets: { cpuUs: { mostRatio: 3 } } })),
    { what: 'lists, 64 a second', ours: steadily, targets: { p99Ms: { most: 20 } } },
    { what: 'signed receipt, one client', ...one, targets: { cpuUs: { mostRatio: 1.2 } } },
  ]
}

export const visible: Suite = async ({ dir, many, fill, running }) => {
  await fill()
  const env = { ...boardIn(dir), BUILDER: 'embedded' }
  // The export of the day takes a minute for a million receipts.
  const { address } = await running(startLedger(dir, { env, readyPath: '/export.json' }))
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
  const targets = { p95Ms: { most: 700 } }
  return [{ what: 'signed receipt in its document', ours: () => add(many(24)), targets }]
}

export const postgres: Suite = async (settings) => {
  const { dir, running } = settings
  const post = poster(settings)
  const server = await running(startPostgres())
  const listed = boardIn(dir)
  /** They share the folder with the keys, as replicas do. */
  const start = async (database: string | null) => {
    const mail = { SMTP_URL: 'smtp://127.0.0.1:1', SNAPSHOT_GIT_REMOTE: join(dir, 'archive') }
    const env = database === null ? listed : { ...listed, ...mail, DATABASE_URL: database }
    return await running(startLedger(dir, { env }))
  }
  const sqlite = await start(null)
  const shared = await newPostgresDatabase(server.url)
  const replicas = [await start(shared), await start(shared), await start(shared)]
  const { port } = await running(startTcpProxy(server.port, 1))
  const url = await newPostgresDatabase(server.url)
  const far = await start(url.replace(`:${server.port}/`, `:${port}/`))
  const against = (what: string, services: typeof replicas, leastRatio: number): Bench => ({
    what: `signed receipt, ${what} on PostgreSQL`,
    ours: () => post(services),
    peer: ['one service, SQLite', () => post([sqlite])],
    targets: { perSecond: { leastRatio } },
  })
  return [
    against('one service', replicas.slice(0, 1), 0.9),
    against('three services', replicas, 1.3),
    {
      what: 'registration, PostgreSQL behind 1 ms',
      ours: () => post([far], registration),
      targets: { perSecond: { least: 500 } },
    },
  ]
}

export const checks: Suite = async ({ many, running }) => {
  const message = `A receipt: ${'x'.repeat(500)}`
  const { check, close } = oneCheckThread()
  await running(Promise.resolve({ stop: close }))
  const rateOf = (isValid: () => Promise<boolean>) => async () => {
    const all = Array.from({ length: many(3000) })
    const { result, ms } = await timed(() => Promise.all(all.map(isValid)))
    if (!result.every(Boolean)) throw new Error('invalid signature')
    return { perSecond: (result.length / ms) * 1000 }
  }
  type Library = readonly [name: string, isValid: () => Promise<boolean>]
  const against = (one: SignatureCheck, [name, isValid]: Library, leastRatio: number): Bench => ({
    what: `check of a signature, ${one.scheme}`,
    ours: rateOf(async () => (await check(one)).valid),
    peer: [name, rateOf(isValid)],
    targets: { perSecond: { leastRatio } },
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
