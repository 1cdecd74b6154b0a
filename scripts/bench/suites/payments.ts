/** Paid reads, beside the same reads unpaid and beside the official middleware on the same chain. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { getAddress } from 'viem'
import { z } from 'zod'

import { startRpcProxy } from '../../../test/support/rpc-proxy.ts'
import type { RpcProxy } from '../../../test/support/rpc-proxy.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../../../test/support/x402-payment.ts'
import { cpuNs, startNodeServer } from '../processes.ts'
import type { ServerProcess } from '../processes.ts'
import { interleave, median, row, rowsOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import { signUpPartner, startService } from '../service.ts'
import type { Suite } from '../suite.ts'

const price = '0.001'
const farNodeMs = 20
const atOnce = 20
const receiver = chainAccount('receiver').address
const peerScript = new URL('../peers/x402-hono.js', import.meta.url)

type RequestOf = () => Promise<{
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}>

/** A seller with its own node and payer. */
interface Seller {
  readonly name: string
  readonly server: ServerProcess
  readonly node: RpcProxy
  readonly soldUrl: string
  /** The request that gets the same answer without a payment. */
  readonly unpaid: RequestOf
  readonly payer: string
}

export const payments: Suite = {
  about: 'paid reads, beside unpaid ones and beside the official middleware on the same chain',
  run: async ({ dir, quick, log }) => {
    const [rounds, requests] = quick ? [2, 15] : [9, 40]
    const chain = await startUsdcChain()
    const stops = [chain.stop]
    let nodeDelayMs = 0
    const startNode = async (): Promise<RpcProxy> => {
      const before = async () => void (nodeDelayMs > 0 && (await sleep(nodeDelayMs)))
      const proxy = await startRpcProxy(chain.url, { before })
      stops.unshift(proxy.stop)
      return proxy
    }
    try {
      for (const name of ['settler', 'peer settler']) await chain.fund(chainAccount(name).address)
      for (const name of ['payer', 'peer payer']) {
        await chain.mint(chainAccount(name).address, 1_000_000_000n)
      }
      log('  the ledger starts')
      const ours = await startOurs(dir, await startNode())
      stops.unshift(ours.server.stop)
      const sold = await bodyOf(ours)
      const peer = await startPeer(dir, await startNode(), sold)
      stops.unshift(peer.server.stop)

      const measure = (seller: Seller) => async (): Promise<Sample> => {
        log(`  ${seller.name}`)
        nodeDelayMs = farNodeMs
        const farPaidMs = await medianMs(await paidRequests(seller, Math.ceil(requests / 3)))
        nodeDelayMs = 0
        await medianMs(await paidRequests(seller, 3))
        // Only the selling process: the service has its builder beside it.
        const [pid = 0] = seller.server.pids()
        const signed = await paidRequests(seller, requests)
        const [calls, cpu] = [seller.node.requests.length, cpuNs([pid])]
        const paidMs = await medianMs(signed)
        const rpcCalls = (seller.node.requests.length - calls) / requests
        const cpuUs = (cpuNs([pid]) - cpu) / requests / 1000
        const unpaidMs = await medianMs(Array.from({ length: requests }, () => seller.unpaid))
        const together = await paidRequests(seller, atOnce)
        const startedMs = performance.now()
        await Promise.all(together.map(timeOf))
        const atOnceMs = performance.now() - startedMs
        const addedMs = paidMs - unpaidMs
        return { farPaidMs, paidMs, unpaidMs, addedMs, atOnceMs, rpcCalls, cpuUs }
      }
      const samples = await interleave(rounds, { ours: measure(ours), peer: measure(peer) })
      const reverted = await Promise.all(
        ['settler', 'peer settler'].map(async (name) => {
          const sent = await chain.sentBy(chainAccount(name).address)
          return sent.filter(({ succeeded }) => !succeeded).length
        }),
      )
      const unpaid = { name: 'unpaid', samples: samples('ours'), figure: 'unpaidMs' }
      return {
        rows: rowsOf(samples('ours'), { name: peer.name, samples: samples('peer') }, [
          row('paid read', 'ms', 'paidMs', { peer: unpaid }),
          row('paid read', 'ms', 'paidMs', { also: { 'cpu us/req': 'cpuUs' } }),
          row('added by the payment', 'ms', 'addedMs'),
          row(`paid read, node ${farNodeMs} ms away`, 'ms', 'farPaidMs'),
          row(`${atOnce} paid reads at once`, 'ms', 'atOnceMs'),
          row('RPC calls per payment', 'calls', 'rpcCalls'),
        ]),
        skipped: [
          { what: 'the wait for a block', why: 'the chain mines one with each transaction' },
        ],
        facts: {
          requests_per_round: requests,
          answer_bytes: sold.bytes.length,
          far_node_ms: farNodeMs,
          reverted_transactions: reverted.join(' and '),
        },
      }
    } finally {
      for (const stop of stops) await stop()
    }
  },
}

async function startOurs(dir: string, node: RpcProxy): Promise<Seller> {
  const keyFile = join(dir, 'settler.key')
  writeFileSync(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
  const server = await startService(dir, {
    builder: true,
    env: {
      SETTLEMENT: 'local',
      SETTLER_KEY_FILE: keyFile,
      PAYMENT_RECEIVER: receiver,
      RPC_URL_BASE: node.url,
    },
    readyPath: '/api/v1/rails',
  })
  const client = await signUpPartner(server)
  const unpaid = async () => (await client.prepare('getCard')).request
  const { url } = await unpaid()
  return { name: 'ours', server, node, soldUrl: url, unpaid, payer: 'payer' }
}

interface Sold {
  readonly bytes: Buffer
  readonly contentType: string
}

async function bodyOf({ unpaid }: Seller): Promise<Sold> {
  const { url, ...init } = await unpaid()
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
  const server = await startNodeServer(peerScript, {
    args: [node.url, receiver, price, file, sold.contentType, 'peer settler'],
    readyPath: '/free',
  })
  return {
    name: '@x402/hono',
    server,
    node,
    soldUrl: `${server.origin}/sold`,
    unpaid: () => Promise.resolve({ url: `${server.origin}/free` }),
    payer: 'peer payer',
  }
}

const challenge = z.object({
  accepts: z.tuple([z.looseObject({ payTo: z.string(), amount: z.string() })], z.unknown()),
})

/** Requests with payments that are signed before the clock starts. */
async function paidRequests({ soldUrl, payer }: Seller, count: number): Promise<RequestOf[]> {
  const response = await fetch(soldUrl)
  await response.arrayBuffer()
  const text = Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString()
  const [accepted] = challenge.parse(JSON.parse(text)).accepts
  const terms = { to: getAddress(accepted.payTo), value: BigInt(accepted.amount) }
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const signed = await signAuthorization(chainAccount(payer), terms)
      const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed, accepted)) }
      return () => Promise.resolve({ url: soldUrl, headers })
    }),
  )
}

/** The median time of requests that are sent one after the other. */
async function medianMs(requests: readonly RequestOf[]): Promise<number> {
  const times: number[] = []
  for (const request of requests) times.push(await timeOf(request))
  return median(times)
}

async function timeOf(request: RequestOf): Promise<number> {
  const { url, ...init } = await request()
  const startedMs = performance.now()
  const response = await fetch(url, init)
  const body = await response.arrayBuffer()
  if (response.status !== 200) {
    throw new Error(`${url} answers ${response.status}: ${Buffer.from(body).toString()}`)
  }
  return performance.now() - startedMs
}
