/** The two questions of the Solana JSON-RPC that the ledger asks. https://solana.com/docs/rpc/http */
import { z } from 'zod'

import { beginningOf, parseEarly } from '../../src/core/parse-early.ts'
import { redact } from '../../src/core/redact.ts'
import { hostOf } from '../chain/errors.ts'
import { SourceError } from '../sources/http.ts'
import type { Http } from '../sources/http.ts'

const signatureShape = z.object({
  signature: z.string().min(1),
  slot: z.int().min(0),
  /** Null where the transaction succeeded. */
  err: z.unknown(),
  /** Unix seconds. */
  blockTime: z.int().min(0).nullable(),
})
export type SignatureInfo = z.output<typeof signatureShape>

const tokenBalance = z.object({
  accountIndex: z.int().min(0),
  mint: z.string(),
  owner: z.string().nullish(),
})

const parsedInstruction = z.object({
  program: z.string().optional(),
  parsed: z.unknown().optional(),
})

const transactionShape = z.object({
  slot: z.int().min(0),
  blockTime: z.int().min(0).nullable(),
  meta: z.object({
    err: z.unknown(),
    innerInstructions: z.array(z.object({ instructions: z.array(parsedInstruction) })).nullish(),
    preTokenBalances: z.array(tokenBalance).nullish(),
    postTokenBalances: z.array(tokenBalance).nullish(),
  }),
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string(), signer: z.boolean() })).min(1),
      instructions: z.array(parsedInstruction),
    }),
  }),
})
export type SolanaTransaction = z.output<typeof transactionShape>

const replyShape = z.union([
  z.object({ error: z.object({ code: z.number(), message: z.string() }) }),
  z.object({ result: z.unknown() }),
])

interface SignaturesRequest {
  readonly address: string
  readonly limit: number
  /** Only older ones than this signature. */
  readonly before?: string | undefined
  /** Only newer ones than this signature. */
  readonly until?: string | undefined
}

export interface SolanaRpc {
  /** Newest first; finalized, so nothing of it is ever taken back. */
  readonly signatures: (request: SignaturesRequest) => Promise<readonly SignatureInfo[]>
  readonly transaction: (signature: string) => Promise<SolanaTransaction>
}

/** Throws `SourceError`; of the address only the host is ever named, since providers keep keys in path and query. */
export function solanaRpc(http: Http, url: string): SolanaRpc {
  async function call<Shape extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    shape: Shape,
  ): Promise<z.output<Shape>> {
    const { body } = await http.json(url, {
      json: { jsonrpc: '2.0', id: 1, method, params },
      secretPath: true,
    })
    const name = `${method} at ${hostOf(url)}`
    const reply = parseEarly(replyShape, body)
    if (!reply.success) throw new SourceError(`${name}: the answer is no JSON-RPC reply`)
    if (isRefusal(reply.data)) {
      const { code, message } = reply.data.error
      throw new SourceError(`${name}: error ${code}: ${redact(beginningOf(message))}`)
    }
    if (reply.data.result === null) {
      throw new SourceError(`${name}: nothing was found; the history of the node may be cut`)
    }
    const result = parseEarly(shape, reply.data.result)
    if (result.success) return result.data
    const [issue] = result.error.issues
    throw new SourceError(
      `${name}: field ${issue?.path.map(String).join('.') ?? ''}: ${issue?.message ?? 'unexpected shape'}`,
    )
  }

  return {
    signatures: ({ address, limit, before, until }) =>
      call(
        'getSignaturesForAddress',
        [address, { limit, commitment: 'finalized', before, until }],
        z.array(signatureShape),
      ),
    transaction: (signature) =>
      call(
        'getTransaction',
        [
          signature,
          { encoding: 'jsonParsed', commitment: 'finalized', maxSupportedTransactionVersion: 0 },
        ],
        transactionShape,
      ),
  }
}

function isRefusal(
  reply: z.output<typeof replyShape>,
): reply is { error: { code: number; message: string } } {
  return 'error' in reply && reply.error !== undefined && reply.error !== null
}
