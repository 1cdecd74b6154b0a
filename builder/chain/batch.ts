/**
 * Many questions to a node in few requests: JSON-RPC 2.0 batches (https://www.jsonrpc.org/specification#batch), counted
 * and bounded. A question that is not answered is an error of its own and never an answer.
 */
import { z } from 'zod'

import type { Clock, Fetch } from '../../src/core/deps.ts'
import { beginningOf, parseEarly } from '../../src/core/parse-early.ts'
import { secondMs } from '../../src/core/time.ts'
import { OversizeError, readLimited } from '../../src/outbound/read-limited.ts'
import { TimeoutError, withTimeout } from '../../src/outbound/timeout.ts'
import { chains } from './chains.ts'
import type { EvmChainName } from './chains.ts'
import { ChainError, cleaned, hostOf, rateWords } from './errors.ts'

export interface RpcQuestion {
  readonly method: string
  readonly params: readonly unknown[]
}

export type RpcAnswer =
  | { readonly result: unknown }
  | { readonly error: ChainError; readonly code: number | null }

export interface BatchRpc {
  readonly chain: EvmChainName
  /** Answers in the order of the questions. Throws `BudgetSpent` before it asks more than is left, and on abort. */
  readonly ask: (
    questions: readonly RpcQuestion[],
    perRequest?: number,
  ) => Promise<readonly RpcAnswer[]>
  readonly spent: () => { readonly calls: number; readonly requests: number }
  readonly left: () => number
}

export interface BatchOptions {
  readonly chain: EvmChainName
  readonly rpcUrl: string
  readonly fetch: Fetch
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Questions that may be asked in all. */
  readonly maxCalls: number
  readonly timeoutMs?: number
  readonly retries?: number
}

/** The run has asked as much as it may; what is left is asked by the next one. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent'
}

const defaultPerRequest = 100
const defaultTimeoutMs = 20 * secondMs
const defaultRetries = 2
const firstPauseMs = 400
const maxAnswerBytes = 16 * 1024 * 1024
/** Requests that fail in a row before the node is taken for dead, and is not asked again in this run. */
const failuresToGiveUp = 3

const failureOf = z.object({ code: z.number(), message: z.string().transform(beginningOf) })
const oneAnswer = z.object({
  id: z.number(),
  result: z.unknown(),
  error: failureOf.optional(),
})

/** What a request came to: answers by id, or why there are none and whether fewer questions may be answered. */
type Sent =
  | { readonly answers: ReadonlyMap<number, z.infer<typeof oneAnswer>> }
  | { readonly failure: string; readonly passing: boolean; readonly tooMuch: boolean }

export function createBatchRpc(options: BatchOptions): BatchRpc {
  const { chain, rpcUrl, clock, signal, maxCalls } = options
  const { timeoutMs = defaultTimeoutMs, retries = defaultRetries } = options
  let calls = 0
  let requests = 0
  let failures = 0
  let mostPerRequest = Number.POSITIVE_INFINITY
  let dead: ChainError | null = null

  const errorOf = (reason: string) => new ChainError(`${chain} RPC at ${hostOf(rpcUrl)}: ${reason}`)

  async function send(questions: readonly RpcQuestion[], firstId: number): Promise<Sent> {
    requests += 1
    const bodies = questions.map(({ method, params }, at) => ({
      jsonrpc: '2.0',
      id: firstId + at,
      method,
      params,
    }))
    // Nodes that know no batches know single questions.
    const body = JSON.stringify(bodies.length === 1 ? bodies[0] : bodies)
    try {
      const { ok, status, bytes } = await withTimeout({ timeoutMs, signal }, async (limited) => {
        const response = await options.fetch(rpcUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body,
          redirect: 'error',
          signal: limited,
        })
        const { ok, status } = response
        return { ok, status, bytes: await readLimited(response, maxAnswerBytes) }
      })
      if (!ok) return refusal(status)
      return read(JSON.parse(new TextDecoder().decode(bytes)))
    } catch (error) {
      signal.throwIfAborted()
      return thrown(error)
    }
  }

  function read(json: unknown): Sent {
    const list = parseEarly(z.array(oneAnswer), Array.isArray(json) ? json : [json])
    if (list.success) {
      const answers = new Map(list.data.map((answer) => [answer.id, answer]))
      if (answers.size === list.data.length) return { answers }
    }
    // A batch that is refused as a whole is answered by one error without an id.
    const refused = z.object({ error: failureOf }).safeParse(json)
    if (!refused.success) {
      return { failure: 'an answer that is no JSON-RPC', passing: false, tooMuch: false }
    }
    const { code, message } = refused.data.error
    const passing = rateWords.test(message)
    return {
      failure: `error ${code}: ${cleaned(message, rpcUrl)}`,
      passing,
      tooMuch: !passing,
    }
  }

  /** Sends, again after a pause where the failure may pass, in halves where it was too much at once. */
  async function answersTo(
    questions: readonly RpcQuestion[],
    firstId: number,
  ): Promise<RpcAnswer[]> {
    for (let attempt = 0; dead === null; attempt += 1) {
      const sent = await send(questions, firstId)
      if ('answers' in sent) {
        failures = 0
        return questions.map((_, at) => answerOf(sent.answers.get(firstId + at)))
      }
      // Silence is a failure, however much was asked: only an answer sets the count back.
      if (sent.passing && sent.tooMuch) {
        failures += 1
        if (failures >= failuresToGiveUp) dead = errorOf(sent.failure)
        if (dead !== null) break
      }
      if (sent.tooMuch && questions.length > 1) {
        const half = Math.ceil(questions.length / 2)
        mostPerRequest = Math.min(mostPerRequest, half)
        return [
          ...(await answersTo(questions.slice(0, half), firstId)),
          ...(await answersTo(questions.slice(half), firstId + half)),
        ]
      }
      const error = errorOf(sent.failure)
      if (sent.passing && attempt < retries) {
        await clock.sleep(firstPauseMs * 2 ** attempt, signal)
        continue
      }
      failures += 1
      if (failures >= failuresToGiveUp) dead = error
      return questions.map(() => ({ error, code: null }))
    }
    const error = dead
    return questions.map(() => ({ error, code: null }))
  }

  /** The same, with those asked once more that the node was too busy for. */
  async function patiently(questions: readonly RpcQuestion[]): Promise<RpcAnswer[]> {
    const answers = await answersTo(questions, calls + 1)
    calls += questions.length
    for (let attempt = 0; attempt < retries && dead === null; attempt += 1) {
      const busy = answers.flatMap((answer, at) =>
        'error' in answer && answer.code !== null && rateWords.test(answer.error.message)
          ? [at]
          : [],
      )
      if (busy.length === 0 || busy.length > maxCalls - calls) break
      await clock.sleep(firstPauseMs * 2 ** attempt, signal)
      const again = questions.filter((_, at) => busy.includes(at))
      const second = await answersTo(again, calls + 1)
      calls += again.length
      for (const [nth, at] of busy.entries()) {
        const answer = second[nth]
        if (answer !== undefined) answers[at] = answer
      }
    }
    return answers
  }

  function answerOf(answer: z.infer<typeof oneAnswer> | undefined): RpcAnswer {
    if (answer === undefined) return { error: errorOf('a question without an answer'), code: null }
    if (answer.error === undefined) return { result: answer.result }
    const { code, message } = answer.error
    return { error: errorOf(`error ${code}: ${cleaned(message, rpcUrl)}`), code }
  }

  return {
    chain,
    ask: async (questions, perRequest = defaultPerRequest) => {
      if (calls + questions.length > maxCalls) throw new BudgetSpent()
      const answers: RpcAnswer[] = []
      for (let at = 0; at < questions.length;) {
        signal.throwIfAborted()
        const part = questions.slice(at, at + Math.min(perRequest, mostPerRequest))
        answers.push(...(await patiently(part)))
        at += part.length
      }
      return answers
    },
    spent: () => ({ calls, requests }),
    left: () => maxCalls - calls,
  }
}

/** What every chain is asked first: a node of another chain answers nothing that counts. */
export function requireChainId(rpc: BatchRpc, answer: RpcAnswer | undefined): void {
  if (answer === undefined || 'error' in answer) {
    throw answer?.error ?? new ChainError(`${rpc.chain} RPC: no chain id`)
  }
  const { chainId } = chains[rpc.chain]
  const answered = z.string().safeParse(answer.result)
  if (answered.success && Number(answered.data) === chainId) return
  throw new ChainError(
    `${rpc.chain} RPC: it is of chain ${answered.success ? String(Number(answered.data)) : 'unknown'}, not ${chainId}`,
  )
}

function refusal(status: number): Sent {
  const passing = status === 429 || status >= 500
  return { failure: `HTTP ${status}`, passing, tooMuch: status === 413 }
}

function thrown(error: unknown): Sent {
  if (error instanceof SyntaxError) {
    return { failure: 'an answer that is not JSON', passing: false, tooMuch: false }
  }
  if (error instanceof OversizeError) {
    return { failure: 'an answer above the size limit', passing: false, tooMuch: true }
  }
  const late = error instanceof TimeoutError
  return { failure: late ? 'timed out' : 'out of reach', passing: true, tooMuch: late }
}
