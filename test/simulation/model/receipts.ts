/** Receipts and their reputation entries. */
import type { Of } from './intent.ts'
import { iso, scoreOf } from './reading.ts'
import type { State } from './state.ts'
import { refused } from './verdict.ts'
import type { Verdict } from './verdict.ts'

export function receipt(state: State, request: Of<'receipt'>, nowMs: number): Verdict {
  const { intent } = request
  const { id, to, payer, platform, publicKey, amountMicro } = intent
  if (publicKey !== null) {
    const wanted = state.workers.get(to)?.receiptKey ?? null
    if (wanted !== null && wanted !== publicKey) return refused('forbidden')
  }
  const known = state.receipts.get(id)
  const entries = [...state.entries]
  if (known === undefined && platform !== null) {
    const from = payer ?? `platform:${platform}`
    const isSelf = from === to
    const earlier = entries.filter(
      (entry) => entry.wallet === to && entry.payer === from && entry.rank !== null,
    )
    const rank = isSelf ? null : earlier.length + 1
    const valueMicro = rank === null ? 0 : Number((BigInt(amountMicro) * 8n) / (10n * BigInt(rank)))
    entries.push({
      wallet: to,
      receiptId: id,
      payer: from,
      rank,
      amountMicro,
      valueMicro,
      atMs: nowMs,
    })
  }
  const earned = entries.filter(({ receiptId }) => receiptId === id)
  return {
    kind: 'success',
    status: known === undefined ? 201 : 200,
    answer: {
      receipt_id: id,
      accepted_at: iso(known?.atMs ?? nowMs),
      kind: platform === null ? 'signed' : 'platform',
      verification: platform === null ? 'unverified' : 'verified',
      rep_delta: earned.reduce((sum, { valueMicro }) => sum + valueMicro, 0) / 1e6,
      new_rep_score: scoreOf(entries, to, nowMs),
    },
    write: (next) => {
      if (known !== undefined) return
      const kind = platform === null ? 'signed' : 'platform'
      const submitter = request.wallet
      const facts = { id, to, from: payer, submitter, kind, platform, amountMicro } as const
      next.receipts.set(id, { ...facts, atMs: nowMs, jobId: null })
      next.entries.push(...entries.slice(next.entries.length))
    },
  }
}
