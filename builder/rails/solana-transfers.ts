import { z } from 'zod'

import { SourceError } from '../../src/outbound/http.ts'
import type { SolanaTransaction } from './solana-rpc.ts'

const baseUnits = z.string().regex(/^\d{1,20}$/)

/** SPL Token: `transferChecked` has mint and tokenAmount; `transfer` has amount only. */
const transferInfo = z.object({
  source: z.string(),
  destination: z.string(),
  authority: z.string().optional(),
  mint: z.string().optional(),
  amount: baseUnits.optional(),
  tokenAmount: z.object({ amount: baseUnits }).optional(),
})

const instructionShape = z.object({
  program: z.enum(['spl-token', 'spl-token-2022']),
  parsed: z.object({ type: z.enum(['transfer', 'transferChecked']), info: z.unknown() }),
})

/** Returns transfers between owners of token accounts, whose addresses are case-sensitive; the balances before and after name owner and mint. */
export function transfersOf(transaction: SolanaTransaction, mint: string) {
  const { meta } = transaction
  const { accountKeys, instructions } = transaction.transaction.message
  const accounts = new Map<string, { readonly owner: string | null; readonly mint: string }>()
  for (const balance of [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])]) {
    const address = accountKeys[balance.accountIndex]?.pubkey
    if (address !== undefined) {
      accounts.set(address, { owner: balance.owner ?? null, mint: balance.mint })
    }
  }
  const inner = (meta.innerInstructions ?? []).flatMap((group) => group.instructions)
  return [...instructions, ...inner].flatMap((instruction) => {
    const parsed = instructionShape.safeParse(instruction)
    if (!parsed.success) return []
    const info = infoOf(parsed.data.parsed.info)
    const [source, destination] = [accounts.get(info.source), accounts.get(info.destination)]
    const units = info.tokenAmount?.amount ?? info.amount
    if (units === undefined || (info.mint ?? source?.mint ?? destination?.mint) !== mint) return []
    return [
      {
        from: source?.owner ?? info.authority ?? info.source,
        to: destination?.owner ?? info.destination,
        units: BigInt(units),
      },
    ]
  })
}

/** @throws SourceError, since no unreadable transfer may be skipped */
function infoOf(info: unknown): z.output<typeof transferInfo> {
  const parsed = transferInfo.safeParse(info)
  if (parsed.success) return parsed.data
  const field = parsed.error.issues[0]?.path.map(String).join('.') ?? ''
  throw new SourceError(`getTransaction: a token transfer has an unexpected field ${field}`)
}
