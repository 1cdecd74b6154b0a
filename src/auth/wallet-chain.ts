import type { Clock, Fetch } from '../core/deps.ts'
import { parseReplies, requestBody } from '../outbound/json-rpc.ts'
import { readLimited } from '../outbound/read-limited.ts'
import type { WalletChain } from './contract-wallet.ts'

const MAX_ANSWER_BYTES = 1024 * 1024

/** Large enough for a full block of Base, which lists thousands of transactions. */
export function createWalletChain(
  url: string,
  deps: { readonly fetch: Fetch; readonly clock: Pick<Clock, 'sleep'> },
): WalletChain {
  return {
    request: async (method, params, signal) => {
      const response = await deps.fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
        body: JSON.stringify(requestBody([{ method, params }])),
        redirect: 'error',
        signal,
      })
      const bytes = await readLimited(response, MAX_ANSWER_BYTES)
      const [reply] = parseReplies(JSON.parse(new TextDecoder().decode(bytes)), 1)
      if (reply === null || reply === undefined) throw new TypeError('the response has no result')
      if ('error' in reply) throw reply.error
      return reply.result
    },
    sleep: deps.clock.sleep,
  }
}
