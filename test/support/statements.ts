import { makeStatement } from '../../src/core/statement.ts'
import type { IncomeReceipt } from '../../src/core/statement.ts'
import { isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { putStatement } from '../../src/db/income.ts'
import type { UsedService } from './use-service.ts'

/** Stores the first statement of the wallet, for 2026-10. */
export async function storeStatement(
  { actions, clock }: Pick<UsedService, 'actions' | 'clock'>,
  wallet: string,
  receipts: IncomeReceipt[] = [],
): Promise<void> {
  const facts = { wallet, month: '2026-10', closed_at: isoTime(clock.now()), previous: null }
  const body = makeStatement({ ...facts, receipts }, [], [])
  await actions.database.write((tx) =>
    putStatement(tx, parseWallet(wallet).id, { body, isWhole: true }),
  )
}
