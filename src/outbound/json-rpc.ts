/** JSON-RPC 2.0. https://www.jsonrpc.org/specification */
import { z } from 'zod'

import { beginningOf, parseEarly } from '../core/parse-early.ts'

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: z.infer<typeof errorObject>) {
    super(message)
    this.code = code
    this.data = data
  }
}

export type RpcReply = { readonly result: unknown } | { readonly error: RpcError }

const errorObject = z.object({
  code: z.number(),
  message: z.string().transform(beginningOf),
  data: z.unknown().optional(),
})
const replyObject = z.object({
  id: z.unknown().optional(),
  result: z.unknown().optional(),
  error: errorObject.nullish(),
})

/** Returns one object for one call, since not every node accepts batches, and an array for several calls. */
export function requestBody(calls: readonly RpcCall[], firstId = 1): unknown {
  const requests = calls.map((call, at) => ({ jsonrpc: '2.0', id: firstId + at, ...call }))
  return requests.length === 1 ? requests[0] : requests
}

/**
 * Returns replies in the order of the calls; null if missing. @throws RpcError for a refused batch; TypeError for other
 * JSON
 */
export function parseReplies(body: unknown, calls: number, firstId = 1): (RpcReply | null)[] {
  const parsed = parseEarly(z.array(replyObject), Array.isArray(body) ? body : [body])
  if (!parsed.success) throw new TypeError('the response is not JSON-RPC')
  const [first] = parsed.data
  if (!Array.isArray(body) && calls > 1 && first?.error) throw new RpcError(first.error)
  const byId = new Map(parsed.data.map((reply) => [reply.id, reply]))
  if (byId.size !== parsed.data.length) throw new TypeError('the response repeats an id')
  return Array.from({ length: calls }, (_, at) => {
    const reply = calls === 1 ? first : byId.get(firstId + at)
    if (reply?.error) return { error: new RpcError(reply.error) }
    return reply?.result === undefined ? null : { result: reply.result }
  })
}
