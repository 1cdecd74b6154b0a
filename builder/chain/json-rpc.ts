/** JSON-RPC client for every chain: batches, retries, a call budget, and errors that contain only the host of the URL. */
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { RpcError, parseReplies, requestBody } from '../../src/outbound/json-rpc.ts'
import type { RpcCall, RpcReply } from '../../src/outbound/json-rpc.ts'
import { hostOf } from '../sources/http-address.ts'
import { createHttp, retryPauseMs } from '../sources/http-client.ts'
import { SourceError } from '../sources/http.ts'
import type { ChainName } from './chains.ts'
import { ChainError, nodeError } from './errors.ts'
import type { Pace } from './pace.ts'

export type { RpcCall } from '../../src/outbound/json-rpc.ts'

export type RpcAnswer = { readonly result: unknown } | { readonly error: ChainError }

export type RpcClient<Chain extends ChainName = ChainName> = ReturnType<
  typeof createRpcClient<Chain>
>

export interface RpcClientOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly userAgent?: string
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly retries?: number | undefined
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
  const { clock, random, signal, pace, retries = defaultRetries } = options
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
  async function post(batch: readonly RpcCall[]): Promise<RpcAnswer[]> {
    const firstId = calls + 1
    calls += batch.length
    requests += 1
    try {
      const { body } = await http.json(rpcUrl, { json: requestBody(batch, firstId), headers, name })
      return parseReplies(body, batch.length, firstId).map(answerOf)
    } catch (error) {
      if (error instanceof RpcError) {
        const refusal = nodeError(name, rpcUrl, error)
        const { message, isTransient } = refusal
        throw new ChainError(message, { isTransient, isTooLarge: !isTransient })
      }
      if (error instanceof TypeError) throw new ChainError(`${name}: ${error.message}`)
      throw error instanceof SourceError ? new ChainError(error.message, error) : error
    }
  }

  function answerOf(reply: RpcReply | null): RpcAnswer {
    if (reply === null) return { error: new ChainError(`${name}: an answer has no result`) }
    return 'error' in reply ? { error: nodeError(name, rpcUrl, reply.error) } : reply
  }

  /** Retries transient failures, and splits a batch that was too large into halves. */
  async function send(batch: readonly RpcCall[], attempt = 0): Promise<RpcAnswer[]> {
    const failAll = (error: ChainError): RpcAnswer[] => batch.map(() => ({ error }))
    if (unusable !== null) return failAll(unusable)
    const turnMs = (await pace?.turn(signal)) ?? 0
    try {
      const answers = await post(batch)
      failures = 0
      if (answers.some(isBusy)) pace?.refused(turnMs)
      else pace?.answered()
      return await repeatBusy(batch, answers, attempt)
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
        return [...(await send(batch.slice(0, half))), ...(await send(batch.slice(half)))]
      }
      if (pauseMs === null || batch.length > maxCalls - calls) return failAll(error)
      await clock.sleep(pauseMs, signal)
      return await send(batch, attempt + 1)
    }
  }

  async function repeatBusy(
    batch: readonly RpcCall[],
    answers: RpcAnswer[],
    attempt: number,
  ): Promise<RpcAnswer[]> {
    const busy = batch.filter((_, at) => isBusy(answers[at]))
    const [first] = answers.filter(isBusy)
    if (first === undefined || attempt >= retries || busy.length > maxCalls - calls) return answers
    await clock.sleep(retryPauseMs(first.error, attempt, random) ?? 0, signal)
    const repeated = (await send(busy, attempt + 1)).values()
    return answers.map((answer) => (isBusy(answer) ? (repeated.next().value ?? answer) : answer))
  }

  /** Returns answers in the order of the calls, with an error for each failed call. @throws CallBudgetError */
  async function batch(
    all: readonly RpcCall[],
    perRequest = defaultPerRequest,
  ): Promise<readonly RpcAnswer[]> {
    if (calls + all.length > maxCalls) throw new CallBudgetError()
    const answers: RpcAnswer[] = []
    while (answers.length < all.length) {
      signal?.throwIfAborted()
      const end = answers.length + Math.min(perRequest, batchLimit)
      answers.push(...(await send(all.slice(answers.length, end))))
    }
    return answers
  }

  return {
    chain,
    /** @throws ChainError */
    call: async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
      const [answer] = await batch([{ method, params }])
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
