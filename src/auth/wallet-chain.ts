/** JSON-RPC over HTTP as the check of contract wallets needs it: one call, a bounded answer. */
import { z } from 'zod'

import type { Clock, Fetch } from '../core/deps.ts'
import { beginningOf } from '../core/parse-early.ts'
import { readLimited } from '../outbound/read-limited.ts'
import type { WalletChain } from './contract-wallet.ts'

/** A block of Base names each of its transactions, of which there are thousands in a busy one. */
const MAX_ANSWER_BYTES = 1024 * 1024

const rpcAnswer = z.union([
  z.object({
    error: z.looseObject({ code: z.number(), message: z.string().transform(beginningOf) }),
  }),
  z.object({ result: z.unknown() }),
])

/** The node's error, as its caller tells "reverted" from "out of reach" by it. */
class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function createWalletChain(
  url: string,
  deps: { readonly fetch: Fetch; readonly clock: Pick<Clock, 'sleep'> },
): WalletChain {
  return {
    request: async (method, params, signal) => {
      const response = await deps.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        redirect: 'error',
        signal,
      })
      const bytes = await readLimited(response, MAX_ANSWER_BYTES)
      const answer = rpcAnswer.parse(JSON.parse(new TextDecoder().decode(bytes)))
      if ('error' in answer) {
        const { code, message } = answer.error
        throw new RpcError(code, message, answer.error['data'])
      }
      return answer.result
    },
    sleep: deps.clock.sleep,
  }
}
