/** JSON-RPC client for every chain: batches, retries, a call budget, and errors that contain only the host of the URL. */
import { z } from 'zod'

import { beginningOf, parseEarly } from '../core/parse-early.ts'
import { hostOf } from '../outbound/http-address.ts'
import { createHttp, retryPauseMs } from '../outbound/http-client.ts'
import type { HttpOptions } from '../outbound/http-client.ts'
import { SourceError } from '../outbound/http.ts'
import type { ChainName } from './chains.ts'
import { ChainError, nodeError } from './errors.ts'
import type { Pace } from './pace.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

export type RpcAnswer = { readonly result: unknown } | { readonly error: ChainError }

export type RpcClient<Chain extends ChainName = ChainName> = ReturnType<
  typeof createRpcClient<Chain>
>

export interface RpcClientOptions extends Omit<HttpOptions, 'baseUrl'> {
  /** Shared by the clients of one node. */
  readonly pace?: Pace
  /** Maximum number of calls that the client sends, retries included; no limit by default. */
  readonly maxCalls?: number
  /** Number of failures in a row after which all further calls fail without being sent; no limit by default. */
  readonly maxFailures?: number
}

export class CallBudgetError extends Error {
  override readonly name = 'CallBudgetError'
}

const defaultPerRequest = 100
const defaultRetries = 3

export function createRpcClient<Chain extends ChainName>(
  chain: Chain,
  rpcUrl: string,
  options: RpcClientOptions,
) {
  const { clock, random, pace, retries = defaultRetries } = options
  const { maxCalls = Number.POSITIVE_INFINITY, maxFailures = Number.POSITIVE_INFINITY } = options
  const name = `${chain} RPC at ${hostOf(rpcUrl)}`
  const http = createHttp({ ...options, retries: 0 })
  // Logs compress well. The size limit counts decompressed bytes.
  const headers = { 'accept-encoding': 'gzip, deflate' }
  let calls = 0
  let requests = 0
  let failures = 0
  let batchLimit = Number.POSITIVE_INFINITY
  let unusable: ChainError | null = null

  /** @throws ChainError if the whole request failed */
  async function post(batch: readonly RpcCall[], signal?: AbortSignal): Promise<RpcAnswer[]> {
    const firstId = calls + 1
    calls += batch.length
    requests += 1
    const json = requestBody(batch, firstId)
    const form = { json, headers, name, signal, readsErrors: true }
    try {
      const { body } = await http.json(rpcUrl, form)
      return answersIn(body, batch.length, firstId)
    } catch (error) {
      if (!(error instanceof SourceError) || error instanceof ChainError) throw error
      const refusal = replyObject.safeParse(error.body).data?.error
      if (!refusal) throw new ChainError(error.message, error.kind, error)
      throw nodeError(name, rpcUrl, refusal, { calls: batch.length, failure: error })
    }
  }

  function answersIn(body: unknown, count: number, firstId: number): RpcAnswer[] {
    const parsed = parseEarly(z.array(replyObject), Array.isArray(body) ? body : [body])
    if (!parsed.success) throw new ChainError(`${name}: the response is not JSON-RPC`)
    const [first] = parsed.data
    if (!Array.isArray(body) && count > 1 && first?.error)
      throw nodeError(name, rpcUrl, first.error, { calls: count })
    const byId = new Map(parsed.data.map((reply) => [reply.id, reply]))
    if (byId.size !== parsed.data.length)
      throw new ChainError(`${name}: the response repeats an id`)
    return Array.from({ length: count }, (_, at) => {
      const reply = count === 1 ? first : byId.get(firstId + at)
      if (reply?.error) return { error: nodeError(name, rpcUrl, reply.error) }
      if (reply?.result !== undefined) return { result: reply.result }
      return { error: new ChainError(`${name}: an answer has no result`) }
    })
  }

  /** Retries transient failures, and splits a batch that was too large into halves. */
  async function send(
    batch: readonly RpcCall[],
    signal: AbortSignal | undefined,
    attempt = 0,
  ): Promise<RpcAnswer[]> {
    const failAll = (error: ChainError): RpcAnswer[] => batch.map(() => ({ error }))
    if (unusable !== null) return failAll(unusable)
    const turnMs = (await pace?.turn(signal)) ?? 0
    try {
      const answers = await post(batch, signal)
      failures = 0
      if (answers.some(isBusy)) pace?.refused(turnMs)
      else pace?.answered()
      return await repeatBusy(batch, answers, signal, attempt)
    } catch (error) {
      if (!(error instanceof ChainError)) throw error
      if (error.isTransient && !error.isTooLarge) pace?.refused(turnMs)
      const isSplit = error.isTooLarge && batch.length > 1
      const pauseMs = attempt < retries && !isSplit ? retryPauseMs(error, attempt, random) : null
      // A timeout always counts as a failure, since the node may be dead.
      if (error.isTransient ? error.isTooLarge || pauseMs === null : !isSplit) failures += 1
      if (failures >= maxFailures) {
        unusable = error
        return failAll(error)
      }
      if (isSplit) {
        const half = Math.ceil(batch.length / 2)
        batchLimit = Math.min(batchLimit, half)
        const firstHalf = await send(batch.slice(0, half), signal)
        return [...firstHalf, ...(await send(batch.slice(half), signal))]
      }
      if (pauseMs === null || batch.length > maxCalls - calls) return failAll(error)
      await clock.sleep(pauseMs, signal)
      return await send(batch, signal, attempt + 1)
    }
  }

  async function repeatBusy(
    batch: readonly RpcCall[],
    answers: RpcAnswer[],
    signal: AbortSignal | undefined,
    attempt: number,
  ): Promise<RpcAnswer[]> {
    const busy = batch.filter((_, at) => isBusy(answers[at]))
    const [first] = answers.filter(isBusy)
    if (first === undefined || attempt >= retries || busy.length > maxCalls - calls) return answers
    await clock.sleep(retryPauseMs(first.error, attempt, random) ?? 0, signal)
    const repeated = (await send(busy, signal, attempt + 1)).values()
    return answers.map((answer) => (isBusy(answer) ? (repeated.next().value ?? answer) : answer))
  }

  /** Returns answers in the order of the calls, with an error for each failed call. @throws CallBudgetError */
  async function batch(
    all: readonly RpcCall[],
    perRequest = defaultPerRequest,
    signal = options.signal,
  ): Promise<readonly RpcAnswer[]> {
    if (calls + all.length > maxCalls) throw new CallBudgetError()
    const answers: RpcAnswer[] = []
    while (answers.length < all.length) {
      signal?.throwIfAborted()
      const end = answers.length + Math.min(perRequest, batchLimit)
      answers.push(...(await send(all.slice(answers.length, end), signal)))
    }
    return answers
  }

  return {
    chain,
    /** @throws ChainError */
    call: async (
      method: string,
      params: readonly unknown[] = [],
      signal?: AbortSignal,
    ): Promise<unknown> => {
      const [answer] = await batch([{ method, params }], 1, signal)
      if (answer === undefined) throw new ChainError(`${name}: no answer`)
      if ('error' in answer) throw answer.error
      return answer.result
    },
    batch,
    spent: () => ({ calls, requests }),
    callsLeft: () => maxCalls - calls,
  }
}

function isBusy(answer: RpcAnswer | undefined): answer is { readonly error: ChainError } {
  return answer !== undefined && 'error' in answer && answer.error.isTransient
}

/** One object for one call, since not every node accepts batches. https://www.jsonrpc.org/specification */
function requestBody(calls: readonly RpcCall[], firstId: number): unknown {
  const requests = calls.map((call, at) => ({ jsonrpc: '2.0', id: firstId + at, ...call }))
  return requests.length === 1 ? requests[0] : requests
}

const replyObject = z.object({
  id: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z
    .object({
      code: z.number(),
      message: z.string().transform(beginningOf),
      data: z.unknown().optional(),
    })
    .nullish(),
})
