/** Signatures and transactions of Solana. https://solana.com/docs/rpc/http */
import { z } from 'zod'

import type { RpcClient } from '../../src/chain/json-rpc.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import { SourceError } from '../../src/outbound/http.ts'

const signatureShape = z.object({
  signature: z.string().min(1),
  slot: z.int().min(0),
  /** Null if the transaction succeeded. */
  err: z.unknown(),
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

export type SolanaReader = ReturnType<typeof createSolanaReader>

export function createSolanaReader(rpc: RpcClient<'solana'>) {
  async function read<Schema extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const result = await rpc.call(method, params)
    if (result === null) {
      throw new SourceError(`${method}: not found; the node may have cut its history`)
    }
    const parsed = parseEarly(schema, result)
    if (parsed.success) return parsed.data
    const [issue] = parsed.error.issues
    const field = issue?.path.map(String).join('.') ?? ''
    throw new SourceError(`${method}: field ${field}: ${issue?.message ?? 'unexpected shape'}`)
  }

  return {
    /** Newest first, finalized only. */
    signatures: (
      address: string,
      page: { limit: number; before: string | undefined; until: string | undefined },
    ) =>
      read(
        'getSignaturesForAddress',
        [address, { commitment: 'finalized', ...page }],
        z.array(signatureShape),
      ),
    transaction: (signature: string) =>
      read(
        'getTransaction',
        [
          signature,
          { encoding: 'jsonParsed', commitment: 'finalized', maxSupportedTransactionVersion: 0 },
        ],
        transactionShape,
      ),
  }
}
