/** A local server in front of a node, or in place of one: it counts what is asked and may answer in its stead. */
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

const logRange = z.object({ fromBlock: z.string(), toBlock: z.string() })

export interface CannedAnswer {
  readonly status?: number
  readonly contentType?: string
  readonly retryAfter?: string
  readonly body: string
  /** Keeps the request open without an answer. */
  readonly silent?: boolean
  /** Closes the connection without an answer. */
  readonly lost?: boolean
}

export interface RpcProxy extends LocalServer {
  /** Every question, those of batches one by one. */
  readonly requests: readonly RpcRequest[]
  /** How many HTTP requests there were. */
  readonly posts: () => number
  /** Block ranges of the `eth_getLogs` so far. */
  readonly ranges: () => readonly { readonly from: number; readonly to: number }[]
}

export interface ProxyRules {
  /** Awaited before the node is asked. */
  readonly before?: (request: RpcRequest) => Promise<void>
  /** An answer instead of the node's, or undefined to ask the node. */
  readonly instead?: (request: RpcRequest) => CannedAnswer | undefined
  /** Changes the text of the node's answer, or loses it with null: the node has done what was asked, and the line goes dead. */
  readonly change?: (request: RpcRequest, answer: string) => string | null
}

/** A JSON-RPC error answer. */
export function rpcError(
  request: RpcRequest,
  code: number,
  message: string,
  status = 200,
): CannedAnswer {
  return {
    status,
    body: JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code, message } }),
  }
}

/** A JSON-RPC result. */
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

  /** A batch is answered by what its questions are answered, or by the first answer that is no 200. */
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    posts += 1
    const sent = z
      .union([rpcRequest, z.array(rpcRequest)])
      .parse(JSON.parse(Buffer.concat(await incoming.toArray()).toString()))
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

/** A proxy that runs until the running test ends. */
export async function proxyDuringTest(nodeUrl: string, rules: ProxyRules = {}): Promise<RpcProxy> {
  const proxy = await startRpcProxy(nodeUrl, rules)
  onTestFinished(proxy.stop)
  return proxy
}
