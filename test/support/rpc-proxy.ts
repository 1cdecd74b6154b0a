/** A proxy of a JSON-RPC node that records requests and can replace, change or lose answers. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { onTestFinished } from 'vitest'
import { z } from 'zod'

import { startLocalServer } from './local-server.ts'
import type { LocalServer } from './local-server.ts'

const rpcRequest = z.object({
  id: z.number(),
  method: z.string(),
  params: z.array(z.unknown()).default([]),
})
export type RpcRequest = z.infer<typeof rpcRequest>
export const rpcRequests = z.union([rpcRequest, z.array(rpcRequest)])

const logRange = z.object({ fromBlock: z.string(), toBlock: z.string() })

export interface CannedAnswer {
  readonly status?: number
  readonly contentType?: string
  readonly retryAfter?: string
  readonly body: string
  /** Leaves the request without an answer. */
  readonly silent?: boolean
  /** Closes the connection without an answer. */
  readonly lost?: boolean
}

export interface RpcProxy extends LocalServer {
  /** All requests; the requests of a batch are listed one by one. */
  readonly requests: readonly RpcRequest[]
  readonly posts: () => number
  /** Block ranges of all `eth_getLogs` requests. */
  readonly ranges: () => readonly { readonly from: number; readonly to: number }[]
}

export interface ProxyRules {
  readonly before?: (request: RpcRequest) => Promise<void>
  /** Returns an answer that replaces the answer of the node, or undefined. */
  readonly instead?: (request: RpcRequest) => CannedAnswer | undefined
  /** Changes the answer of the node. Null closes the connection after the node has done its work. */
  readonly change?: (request: RpcRequest, answer: string) => string | null
}

export function rpcError(
  request: RpcRequest,
  code: number,
  message: string,
  { status = 200, data }: { readonly status?: number; readonly data?: unknown } = {},
): CannedAnswer {
  const error = { code, message, data }
  return { status, body: JSON.stringify({ jsonrpc: '2.0', id: request.id, error }) }
}

export function rpcResult(request: RpcRequest, result: unknown): CannedAnswer {
  return { body: JSON.stringify({ jsonrpc: '2.0', id: request.id, result }) }
}

export function rangeOf(request: RpcRequest): { from: number; to: number } | null {
  if (request.method !== 'eth_getLogs') return null
  const { fromBlock, toBlock } = logRange.parse(request.params[0])
  return { from: Number(fromBlock), to: Number(toBlock) }
}

export async function startRpcProxy(nodeUrl: string, rules: ProxyRules = {}): Promise<RpcProxy> {
  const requests: RpcRequest[] = []

  let posts = 0

  async function answerOne(request: RpcRequest): Promise<CannedAnswer> {
    requests.push(request)
    const canned = rules.instead?.(request)
    if (canned !== undefined) return canned
    await rules.before?.(request)
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', ...request })
    const node = await fetch(nodeUrl, { method: 'POST', headers, body })
    const text = await node.text()
    const changed = rules.change === undefined ? text : rules.change(request, text)
    if (changed === null) return { body: '', lost: true }
    return { status: node.status, body: changed }
  }

  /** The first answer that is not a 200 replaces the answer of the whole batch. */
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    posts += 1
    const sent = rpcRequests.parse(JSON.parse(Buffer.concat(await incoming.toArray()).toString()))
    const answers: CannedAnswer[] = []
    for (const request of Array.isArray(sent) ? sent : [sent])
      answers.push(await answerOne(request))
    if (answers.some(({ lost }) => lost === true)) {
      response.destroy()
      return
    }
    const whole = answers.find(({ status = 200, silent }) => status !== 200 || silent === true)
    if (whole?.silent === true) return
    const [first] = answers
    const text = answers.map(({ body }) => body).join(',')
    const shown = whole ?? first
    response.writeHead(shown?.status ?? 200, {
      'content-type': shown?.contentType ?? 'application/json',
      ...(shown?.retryAfter === undefined ? {} : { 'retry-after': shown.retryAfter }),
    })
    response.end(whole?.body ?? (Array.isArray(sent) ? `[${text}]` : text))
  }

  const server = await startLocalServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) =>
      response.destroy(error instanceof Error ? error : undefined),
    )
  })
  return {
    ...server,
    requests,
    posts: () => posts,
    ranges: () => requests.flatMap((request) => rangeOf(request) ?? []),
  }
}

/** Starts a proxy for the running test. */
export async function proxyDuringTest(nodeUrl: string, rules: ProxyRules = {}): Promise<RpcProxy> {
  const proxy = await startRpcProxy(nodeUrl, rules)
  onTestFinished(proxy.stop)
  return proxy
}
