import { CompiledQuery, sql } from 'kysely'

/** Sums that payers have paid workers, and facts about payers. */
import type { PayerHistory, SumChange } from '../core/reputation/entries.ts'
import { quarterOf } from '../core/reputation/formula.ts'
import { saturated } from '../core/reputation/standing.ts'
import type { Db } from './schema.ts'
import { eachElement, engineOf } from './statements.ts'
import type { Engine } from './statements.ts'

export interface HistoryLookup {
  readonly receiptId: string
  readonly worker: string
  readonly payer: string
  readonly chain: string | null
  readonly txHash: string | null
  /** RFC 3339. */
  readonly now: string
}

// The sum of the payer itself is added: its receipts move to its party only when they are checked.
const lookUp = (engine: Engine) => `
  select
    coalesce(payers.party, element.value ->> 'payer') as party,
    payers.known_since as "knownSince",
    coalesce(payers.pays_workers, 0) as "paysWorkers",
    coalesce((
      select sum(paid_micro_usdc) from payer_sums
      where wallet = element.value ->> 'worker' and quarter = element.value ->> 'quarter'
        and party in (element.value ->> 'payer', payers.party)
    ), 0) as "paidBeforeMicroUsdc",
    exists (
      select 1 from payer_sums
      where wallet = element.value ->> 'worker' and linked = 1
        and party in (element.value ->> 'payer', payers.party)
    ) as "wasLinked",
    exists (
      select 1 from receipts r join reputation_ledger e on e.receipt_id = r.id
      where r.chain = element.value ->> 'chain' and r.tx_hash = element.value ->> 'txHash'
        and r.to_wallet = element.value ->> 'worker' and r.id <> element.value ->> 'receiptId'
        and e.kind = 'receipt_verified' and e.evidence > 0
        and not exists (
          select 1 from reputation_ledger later
          where later.receipt_id = r.id and later.kind = 'receipt_reversed' and later.seq > e.seq
        )
    ) as "isRepeated"
  from ${eachElement[engine]} left join payers on payers.wallet = element.value ->> 'payer'
  order by element.key`

/** One result per lookup, in order. */
export async function lookUpHistories(
  db: Db,
  lookups: readonly HistoryLookup[],
): Promise<readonly PayerHistory[]> {
  const asked = lookups.map((lookup) => ({ ...lookup, quarter: quarterOf(lookup.now) }))
  const { rows } = await db.executeQuery<
    Omit<PayerHistory, 'paysWorkers' | 'wasLinked' | 'isRepeated'> &
      Record<'paysWorkers' | 'wasLinked' | 'isRepeated', number>
  >(CompiledQuery.raw(lookUp(engineOf(db)), [JSON.stringify(asked)]))
  return rows.map(({ paysWorkers, wasLinked, isRepeated, ...history }) => ({
    ...history,
    paidBeforeMicroUsdc: saturated(history.paidBeforeMicroUsdc),
    paysWorkers: paysWorkers === 1,
    wasLinked: wasLinked === 1,
    isRepeated: isRepeated === 1,
  }))
}

export async function addSums(
  db: Db,
  wallet: string,
  changes: readonly SumChange[],
): Promise<void> {
  for (const { party, quarter, microUsdc } of changes) {
    await sql`
      insert into payer_sums (wallet, party, quarter, paid_micro_usdc, linked)
      values (${wallet}, ${party}, ${quarter}, ${microUsdc}, 0)
      on conflict (wallet, party, quarter) do update set paid_micro_usdc = payer_sums.paid_micro_usdc + ${microUsdc}
    `.execute(db)
  }
}
