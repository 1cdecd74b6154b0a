/** Payouts as lines of text, for the evidence: anyone can aggregate them, and any node of the chain leads to the same lines. */
import type { Payout } from './payouts.ts'

export type StreamPayouts = ReadonlyMap<string, readonly Payout[]>

/** `block,logIndex,tx,payer,payee,units,removedBy,stream,atMs,microUsdc`, sorted; empty for null. Ids contain no comma. */
export function linesOf(streams: StreamPayouts): readonly string[] {
  return [...streams]
    .flatMap(([stream, payouts]) => payouts.map((one) => lineOf(stream, one)))
    .sort()
}

function lineOf(stream: string, payout: Payout): string {
  const { block, logIndex, txHash, payer, payee, units = 1n, removedBy } = payout
  const { atMs, microUsdc = 0 } = payout
  return [block, logIndex, txHash, payer, payee, units, removedBy, stream, atMs, microUsdc].join(
    ',',
  )
}

export function payoutOfLine(line: string): { readonly stream: string; readonly payout: Payout } {
  const [block = '', logIndex = '', txHash, payer = '', payee = '', units = '', ...more] =
    line.split(',')
  const [removedBy = '', stream = '', atMs = '', microUsdc = ''] = more
  const payout = {
    block: Number(block),
    logIndex: Number(logIndex),
    txHash,
    payer: payer === '' ? null : payer,
    payee,
    units: BigInt(units),
    removedBy: removedBy === '' ? null : removedBy,
    atMs: Number(atMs),
    microUsdc: microUsdc === '' ? null : Number(microUsdc),
  }
  return { stream, payout }
}
