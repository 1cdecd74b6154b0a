import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import { hasAmountOfChain } from '../../src/core/onchain.ts'
import type { Finality } from '../../src/core/onchain.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import type { CheckedReceipt } from '../../src/db/receipts/checks.ts'
import type { SeenBlock, TokenTransfer, TransactionFacts } from './receipt-facts.ts'

/** Largest allowed difference between the block and `occurred_at`: issuers round to days and confuse time zones. */
export const windowMs = 24 * hourMs

/** Within this time, an unknown transaction may still be pending or the node may be behind. */
export const missingMs = 24 * hourMs
export const missedAtLeast = 3

export type Verdict =
  | { readonly verdict: 'pending'; readonly reason: string }
  | { readonly verdict: 'not_found'; readonly reason: string; readonly isOver: boolean }
  | {
      readonly verdict: Finality
      readonly block: SeenBlock
      /** `value`: in units of the token, if the block was read now. */
      readonly transfer: {
        readonly logIndex: number
        readonly payer: string
        readonly value?: bigint
      }
    }
  | {
      readonly verdict: 'reverted' | 'mismatch'
      readonly reason: string
      readonly block: SeenBlock
    }

/** Returns null if the node gave no facts. `usedLogIndexes`: log indexes of transfers that back other receipts. */
export function verdictOf(
  receipt: CheckedReceipt,
  facts: TransactionFacts,
  nowMs: number,
  usedLogIndexes: ReadonlySet<number>,
): Verdict | null {
  if (facts.kind === 'error') return null
  if (facts.kind === 'not found') return notFoundVerdict(receipt, nowMs)
  if (facts.kind === 'pending') {
    return { verdict: 'pending', reason: 'The transaction is not in a block yet' }
  }
  if (facts.kind === 'unchanged') return unchangedVerdict(receipt, facts.block)
  if (facts.kind === 'reverted') {
    return { verdict: 'reverted', reason: 'The transaction was reverted', block: facts.block }
  }
  const { block, transfers } = facts
  return unchangedVerdict(receipt, block) ?? minedVerdict(receipt, block, transfers, usedLogIndexes)
}

function notFoundVerdict({ chain, check }: CheckedReceipt, nowMs: number): Verdict {
  const since = check?.firstMissingAt ?? null
  const missed = (since === null ? 0 : (check?.consecutiveNotFound ?? 0)) + 1
  const isOver = since !== null && nowMs - Date.parse(since) >= missingMs && missed >= missedAtLeast
  const known = `The transaction is unknown on ${chain}`
  const reason = isOver ? `${known} since ${since ?? ''}` : `${known} so far`
  return { verdict: 'not_found', reason, isOver }
}

/** If the receipt was already checked in this block, only the finality may have changed. */
function unchangedVerdict({ check }: CheckedReceipt, block: SeenBlock): Verdict | null {
  if (check === null || check.blockHash !== block.hash) return null
  if (check.verdict === 'reverted' || check.verdict === 'mismatch') {
    return { verdict: check.verdict, reason: check.reason ?? '', block }
  }
  const { logIndex, payer } = check
  if (logIndex === null || payer === null) return null
  return { verdict: block.finality, block, transfer: { logIndex, payer } }
}

function minedVerdict(
  receipt: CheckedReceipt,
  block: SeenBlock,
  transfers: readonly TokenTransfer[],
  usedLogIndexes: ReadonlySet<number>,
): Verdict {
  const mismatch = (reason: string): Verdict => ({ verdict: 'mismatch', reason, block })
  if (Math.abs(block.atMs - Date.parse(receipt.occurredAt)) > windowMs) {
    return mismatch(
      `The block has the time ${isoTime(block.atMs)}, more than ${windowMs / hourMs} hours from occurred_at`,
    )
  }
  const chosen = chooseTransfer(receipt, transfers, usedLogIndexes)
  if (typeof chosen === 'string') return mismatch(chosen)
  const { logIndex, from, value } = chosen
  return { verdict: block.finality, block, transfer: { logIndex, payer: from, value } }
}

/** Returns the smallest sufficient transfer, else the first condition that no transfer meets. */
function chooseTransfer(
  receipt: CheckedReceipt,
  transfers: readonly TokenTransfer[],
  usedLogIndexes: ReadonlySet<number>,
): TokenTransfer | string {
  const { fromWallet, toWallet, toDisplay, assetSymbol: asset } = receipt
  const least = unitsOf(receipt)
  if (least === null) return `${asset} cannot be checked on ${receipt.chain}`
  const conditions: readonly (readonly [(transfer: TokenTransfer) => boolean, string])[] = [
    // Anyone can make a token contract log a transfer of 0 between any two wallets.
    [({ value }) => value > 0n, `The transaction moves no ${asset}`],
    [({ to }) => to === toWallet, `The transaction moves no ${asset} to ${toDisplay}`],
    [
      ({ from }) => fromWallet === null || from === fromWallet,
      `The ${asset} comes from a wallet other than from_wallet`,
    ],
    [
      ({ from, to }) => from !== to || fromWallet !== null,
      `The worker sent the ${asset} to itself`,
    ],
    [({ value }) => value >= least, `The transaction moves less ${asset} than amount_usdc`],
    [({ logIndex }) => !usedLogIndexes.has(logIndex), 'The transfer already backs another receipt'],
  ]
  let candidates = transfers
  for (const [holds, problem] of conditions) {
    candidates = candidates.filter(holds)
    if (candidates.length === 0) return problem
  }
  const [best] = candidates.toSorted((a, b) => Number(a.value - b.value) || a.logIndex - b.logIndex)
  return best ?? 'The transaction moves nothing'
}

function unitsOf({ chain, assetSymbol, amountMicroUsdc, kind }: CheckedReceipt): bigint | null {
  if (assetSymbol !== 'USDC' || !isEvmChain(chain)) return null
  // A transfer of nothing needs no consent of its payer.
  const least = hasAmountOfChain(kind) ? 1 : amountMicroUsdc
  return (BigInt(least) * 10n ** BigInt(chains[chain].usdc.decimals)) / 1_000_000n
}

export function isEvmChain(chain: string): chain is EvmChainName {
  return Object.hasOwn(chains, chain) && chain !== 'solana'
}

/** What the transfer moved, for a receipt whose amount the chain says; else the stated amount. */
export function amountOf(
  { kind, chain, amountMicroUsdc }: CheckedReceipt,
  verdict: Verdict,
): number {
  const value = 'transfer' in verdict ? verdict.transfer.value : undefined
  if (value === undefined || !hasAmountOfChain(kind) || !isEvmChain(chain)) return amountMicroUsdc
  return microFromBaseUnits(value, chains[chain].usdc.decimals) ?? amountMicroUsdc
}
