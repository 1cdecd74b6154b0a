/** Paid reads, beside the same reads unpaid and beside the official middleware on the same chain. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { getAddress } from 'viem'
import { z } from 'zod'

import { startRpcProxy } from '../../../test/support/rpc-proxy.ts'
import type { RpcProxy } from '../../../test/support/rpc-proxy.ts'
import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { startUsdcChain } from '../../../test/support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  signAuthorization,
} from '../../../test/support/x402-payment.ts'
import { cpuUsOf } from '../cpu.ts'
import { row, rowsOf } from '../rows.ts'
import { interleave, median } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { partnerOf, startService } from '../service.ts'
import type { Suite } from '../suite.ts'

const price = '0.001'
const receiver = chainAccount('receiver').address
const peerScript = new URL('../peers/x402-hono.js', import.meta.url)

interface ReadRequest extends RequestInit {
  readonly url: string
}

/** A seller with its own node and payer. */
interface Seller {
  readonly server: ServerProcess
  readonly node: RpcProxy
  readonly soldUrl: string
  /** The request that gets the same answer without a payment. */
  readonly unpaid: () => Promise<ReadRequest>
  readonly payer: string
}

export const payments: Suite = {
  about: 'paid reads, beside unpaid ones and beside the official middleware on the same chain',
  run: async ({ dir, quick, log }) => {
    const [rounds, requests] = quick ? [2, 15] : [9, 40]
    const chain = await startUsdcChain()
    const stops = [chain.stop]
    const startNode = async (): Promise<RpcProxy> => {
      const proxy = await startRpcProxy(chain.url)
      stops.unshift(proxy.stop)
      return proxy
    }
    const measure = (seller: Seller) => async (): Promise<Sample> => {
      log(`  ${seller.soldUrl}`)
      await medianMs(await paidRequests(seller, 3))
      const { pid } = seller.server
      const signed = await paidRequests(seller, requests)
      const [calls, cpu] = [seller.node.requests.length, cpuUsOf(pid)]
      const paidMs = await medianMs(signed)
      const rpcCalls = (seller.node.requests.length - calls) / requests
      const cpuUs = (cpuUsOf(pid) - cpu) / requests
      const unpaid: ReadRequest[] = []
      for (let at = 0; at < requests; at += 1) unpaid.push(await seller.unpaid())
      return { paidMs, unpaidMs: await medianMs(unpaid), rpcCalls, cpuUs }
    }
    try {
      for (const name of ['settler', 'peer settler']) await chain.fund(chainAccount(name).address)
      for (const name of ['payer', 'peer payer']) {
        await chain.mint(chainAccount(name).address, 1_000_000_000n)
      }
      const ours = await startOurs(dir, await startNode())
      stops.unshift(ours.server.stop)
      const peer = await startPeer(dir, await startNode(), await ours.unpaid())
      stops.unshift(peer.server.stop)
      const compared = (what: string, unit: string, figure: string) =>
        row(what, unit, `service.${figure}`, `@x402/hono.${figure}`)
      const contestants = { service: measure(ours), '@x402/hono': measure(peer) }
      return {
        rows: rowsOf(await interleave(rounds, contestants), [
          row('paid read', 'ms', 'service.paidMs', 'service.unpaidMs'),
          compared('paid read', 'ms', 'paidMs'),
          compared('paid read, CPU time', 'us', 'cpuUs'),
          compared('RPC calls per payment', 'calls', 'rpcCalls'),
        ]),
        skipped: ['the wait for a block: the chain mines one with each transaction'],
        facts: { requests_per_round: requests },
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
  const client = await partnerOf(server)
  const unpaid = async () => (await client.prepare('getCard')).request
  return { server, node, soldUrl: (await unpaid()).url, unpaid, payer: 'payer' }
}

/** Starts the official middleware, which sells the answer to a request. */
async function startPeer(dir: string, node: RpcProxy, request: ReadRequest): Promise<Seller> {
  const { body, response } = await read(request)
  const file = join(dir, 'sold')
  writeFileSync(file, body)
  const contentType = response.headers.get('content-type') ?? ''
  const server = await startNodeServer(peerScript, {
    args: [node.url, receiver, price, file, contentType, 'peer settler'],
    readyPath: '/free',
  })
  const unpaid = () => Promise.resolve({ url: `${server.origin}/free` })
  return { server, node, soldUrl: `${server.origin}/sold`, unpaid, payer: 'peer payer' }
}

const challenge = z.object({
  accepts: z.tuple([z.looseObject({ payTo: z.string(), amount: z.string() })], z.unknown()),
})

/** Requests with payments that are signed before the clock starts. */
async function paidRequests({ soldUrl, payer }: Seller, count: number): Promise<ReadRequest[]> {
  const response = await fetch(soldUrl)
  await response.arrayBuffer()
  const text = Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString()
  const [accepted] = challenge.parse(JSON.parse(text)).accepts
  const terms = { to: getAddress(accepted.payTo), value: BigInt(accepted.amount) }
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const signed = await signAuthorization(chainAccount(payer), terms)
      const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed, accepted)) }
      return { url: soldUrl, headers }
    }),
  )
}

/** The median time of requests that are sent one after the other. */
async function medianMs(requests: readonly ReadRequest[]): Promise<number> {
  const times: number[] = []
  for (const request of requests) {
    const startedMs = performance.now()
    await read(request)
    times.push(performance.now() - startedMs)
  }
  return median(times)
}

/** @throws Error for a status other than 200 */
async function read({ url, ...init }: ReadRequest) {
  const response = await fetch(url, init)
  const body = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200)
    throw new Error(`${url} answers ${response.status}: ${body.toString()}`)
  return { response, body }
}
