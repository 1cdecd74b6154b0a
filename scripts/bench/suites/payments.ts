/** Reads that are paid for: beside the same reads unpaid, and beside the official middleware on the same chain. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { getAddress } from 'viem'
import type { Address, PrivateKeyAccount } from 'viem'
import { z } from 'zod'

import { createClient } from '../../../src/client/client.ts'
import { newestOath } from '../../../src/client/sign.ts'
import { evmSigner } from '../../../src/client/signers.ts'
import { systemClock } from '../../../src/runtime/runtime.ts'
import { startRpcProxy } from '../../../test/support/rpc-proxy.ts'
import type { RpcProxy } from '../../../test/support/rpc-proxy.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import { partnerHeaders, testService } from '../../../test/support/wallets.ts'
import type { TestWallet } from '../../../test/support/wallets.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../../../test/support/x402-payment.ts'
import { cpuNs } from '../load.ts'
import { freePort, scriptPath, startServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { alongside, compare, interleave, median } from '../rounds.ts'
import type { Row, Suite } from '../suite.ts'

/** What is sold: a picture of the home page, which every partner may read unpaid. */
const soldPath = '/api/v1/og'
const price = '0.001'
const farNodeMs = 20
const atOnce = 20
const peerName = '@x402/hono'
const receiver = chainAccount('receiver').address

/** A seller with a node of its own account, and what is asked of that node. */
interface Seller {
  readonly name: string
  readonly server: ServerProcess
  readonly node: RpcProxy
  readonly soldUrl: string
  /** The same answer without a payment. */
  readonly readUnpaid: () => Promise<RequestInit & { readonly url: string }>
  readonly payer: PrivateKeyAccount
}

interface Sample {
  readonly paidMs: number
  readonly unpaidMs: number
  readonly farPaidMs: number
  readonly atOnceMs: number
  readonly rpcCalls: number
  readonly cpuUs: number | null
}

export const payments: Suite = {
  about: 'paid reads, beside unpaid ones and beside the official middleware on the same chain',
  run: async ({ dir, quick, say }) => {
    const [rounds, requests] = quick ? [2, 15] : [9, 40]
    const chain = await startUsdcChain()
    const node = { delayMs: 0 }
    const stops: (() => Promise<void>)[] = [chain.stop]
    try {
      const nodeOf = async () => {
        const proxy = await startRpcProxy(chain.url, {
          before: async () => {
            if (node.delayMs > 0) await sleep(node.delayMs)
          },
        })
        stops.unshift(proxy.stop)
        return proxy
      }
      for (const name of ['settler', 'peer settler']) await chain.fund(chainAccount(name).address)
      for (const name of ['payer', 'peer payer']) {
        await chain.mint(chainAccount(name).address, 1_000_000_000n)
      }
      say('  the ledger starts')
      const ours = await startOurs(dir, await nodeOf())
      stops.unshift(ours.server.stop)
      const sold = await bodyOf(ours)
      const peer = await startPeer(dir, await nodeOf(), sold)
      stops.unshift(peer.server.stop)

      const measure = (seller: Seller) => async (): Promise<Sample> => {
        say(`  ${seller.name}`)
        node.delayMs = farNodeMs
        const far = await paid(seller, Math.ceil(requests / 3))
        node.delayMs = 0
        await paid(seller, 3)
        const [callsBefore, cpuBefore] = [seller.node.requests.length, ownCpuNs(seller)]
        const near = await paid(seller, requests)
        const rpcCalls = (seller.node.requests.length - callsBefore) / requests
        const cpuAfter = ownCpuNs(seller)
        return {
          paidMs: near,
          unpaidMs: await unpaid(seller, requests),
          farPaidMs: far,
          atOnceMs: await paidAtOnce(seller),
          rpcCalls,
          cpuUs:
            cpuBefore === null || cpuAfter === null
              ? null
              : (cpuAfter - cpuBefore) / requests / 1000,
        }
      }
      const samples = await interleave(
        [ours, peer].map((seller) => ({ name: seller.name, measure: measure(seller) })),
        rounds,
      )
      const reverted = await Promise.all(
        ['settler', 'peer settler'].map(async (name) => {
          const sent = await chain.sentBy(chainAccount(name).address)
          return sent.filter(({ succeeded }) => !succeeded).length
        }),
      )
      return {
        rows: rowsOf(samples.get(ours.name) ?? [], samples.get(peer.name) ?? []),
        skipped: [
          { what: 'the wait for a block', why: 'the chain mines one with each transaction' },
        ],
        facts: {
          requests_per_round: requests,
          answer_bytes: sold.bytes.length,
          far_node_ms: farNodeMs,
          reverted_transactions: reverted.join(' and '),
          node: process.version,
        },
      }
    } finally {
      for (const stop of stops) await stop()
    }
  },
}

function rowsOf(ours: readonly Sample[], peer: readonly Sample[]): readonly Row[] {
  const row = (what: string, unit: string, pick: (sample: Sample) => number, also?: Row['also']) =>
    compare({
      what,
      unit,
      ours: ours.map(pick),
      peerName,
      peer: peer.map(pick),
      ...(also === undefined ? {} : { also }),
    })
  const cpu = alongside(
    'cpu us/req',
    ours.map(({ cpuUs }) => cpuUs),
    peer.map(({ cpuUs }) => cpuUs),
  )
  return [
    compare({
      what: 'paid read',
      unit: 'ms',
      ours: ours.map(({ paidMs }) => paidMs),
      peerName: 'unpaid',
      peer: ours.map(({ unpaidMs }) => unpaidMs),
    }),
    row('paid read', 'ms', ({ paidMs }) => paidMs, cpu),
    row('added by the payment', 'ms', ({ paidMs, unpaidMs }) => paidMs - unpaidMs),
    row(`paid read, node ${farNodeMs} ms away`, 'ms', ({ farPaidMs }) => farPaidMs),
    row(`${atOnce} paid reads at once`, 'ms', ({ atOnceMs }) => atOnceMs),
    row('RPC calls per payment', 'calls', ({ rpcCalls }) => rpcCalls),
  ]
}

async function startOurs(dir: string, node: RpcProxy): Promise<Seller> {
  const keyFile = join(dir, 'settler.key')
  writeFileSync(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const server = await startServer({
    program: process.execPath,
    args: [scriptPath(new URL('../../../src/main.js', import.meta.url))],
    env: {
      PORT: String(port),
      HOST: '127.0.0.1',
      SITE_URL: origin,
      DATA_DIR: join(dir, 'data'),
      PUBLIC_DIR: join(dir, 'public'),
      POLL: 'off',
      LIMITS: 'off',
      LOG_LEVEL: 'warn',
      SETTLEMENT: 'local',
      SETTLER_KEY_FILE: keyFile,
      PAYMENT_RECEIVER: receiver,
      RPC_URL_BASE: node.url,
    },
    port,
    readyPath: '/api/v1/rails',
  })
  const partner = await signUp(origin)
  return {
    name: 'ours',
    server,
    node,
    soldUrl: `${origin}${soldPath}`,
    readUnpaid: async () => {
      const target = { method: 'GET', path: soldPath, raw: '' }
      const times = { nowMs: Date.now(), binding: 'path' } as const
      return { url: `${origin}${soldPath}`, headers: await partnerHeaders(partner, target, times) }
    },
    payer: chainAccount('payer'),
  }
}

/** A partner of the free tier. */
async function signUp(origin: string): Promise<TestWallet> {
  const account = chainAccount('partner')
  const client = createClient({
    baseUrl: origin,
    serviceName: testService,
    clock: systemClock,
    random: { bytes: randomBytes },
    fetch,
    signer: await evmSigner(Buffer.from(chainKey('partner').slice(2), 'hex')),
  })
  const { oaths } = await client.oaths()
  const signup = { handle: 'bench', display_name: 'Bench', tier: 'free' } as const
  await client.signupPartner(signup, newestOath(oaths, 'partner'))
  return {
    address: account.address,
    id: account.address.toLowerCase(),
    sign: (message) => account.signMessage({ message }),
  }
}

interface Sold {
  readonly bytes: Buffer
  readonly contentType: string
}

async function bodyOf({ readUnpaid }: Seller): Promise<Sold> {
  const { url, ...init } = await readUnpaid()
  const response = await fetch(url, init)
  if (response.status !== 200) throw new Error(`${url} answers ${response.status}`)
  return {
    bytes: Buffer.from(await response.arrayBuffer()),
    contentType: response.headers.get('content-type') ?? '',
  }
}

async function startPeer(dir: string, node: RpcProxy, sold: Sold): Promise<Seller> {
  const file = join(dir, 'sold')
  writeFileSync(file, sold.bytes)
  const port = await freePort()
  const script = scriptPath(new URL('../peers/x402-hono.js', import.meta.url))
  const server = await startServer({
    program: process.execPath,
    args: [script, String(port), node.url, receiver, price, file, sold.contentType, 'peer settler'],
    port,
    readyPath: '/free',
  })
  return {
    name: peerName,
    server,
    node,
    soldUrl: `${server.origin}/sold`,
    readUnpaid: () => Promise.resolve({ url: `${server.origin}/free` }),
    payer: chainAccount('peer payer'),
  }
}

const challenge = z.object({
  accepts: z.tuple([z.looseObject({ payTo: z.string(), amount: z.string() })], z.unknown()),
})

/** Headers of so many payments, signed before any clock runs. */
async function signedPayments(
  { soldUrl, payer }: Seller,
  count: number,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const unpaid = await fetch(soldUrl)
  await unpaid.arrayBuffer()
  const text = Buffer.from(unpaid.headers.get('payment-required') ?? '', 'base64').toString()
  const [accepted] = challenge.parse(JSON.parse(text)).accepts
  const terms: { to: Address; value: bigint } = {
    to: getAddress(accepted.payTo),
    value: BigInt(accepted.amount),
  }
  return await Promise.all(
    Array.from({ length: count }, async () => ({
      'PAYMENT-SIGNATURE': headerOf(paymentV2(await signAuthorization(payer, terms), accepted)),
    })),
  )
}

/** Of the seller's own process: ours has its builder beside it, which builds whenever it likes. */
function ownCpuNs({ server }: Seller): number | null {
  return cpuNs(server.pids().slice(0, 1))
}

/** Median time of reads one after the other. */
async function paid(seller: Seller, count: number): Promise<number> {
  const times: number[] = []
  for (const headers of await signedPayments(seller, count)) {
    times.push(await timeOf(seller.soldUrl, { headers }))
  }
  return median(times)
}

async function unpaid(seller: Seller, count: number): Promise<number> {
  const times: number[] = []
  for (let at = 0; at < count; at += 1) {
    const { url, ...init } = await seller.readUnpaid()
    times.push(await timeOf(url, init))
  }
  return median(times)
}

/** Time until the last of them is answered. */
async function paidAtOnce(seller: Seller): Promise<number> {
  const signed = await signedPayments(seller, atOnce)
  const startedMs = performance.now()
  await Promise.all(signed.map((headers) => timeOf(seller.soldUrl, { headers })))
  return performance.now() - startedMs
}

async function timeOf(url: string, init: RequestInit): Promise<number> {
  const startedMs = performance.now()
  const response = await fetch(url, init)
  const body = await response.arrayBuffer()
  if (response.status !== 200) {
    throw new Error(`${url} answers ${response.status}: ${Buffer.from(body).toString()}`)
  }
  return performance.now() - startedMs
}
