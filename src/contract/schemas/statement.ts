import { z } from 'zod'

import {
  incomeCorrection,
  incomeLeaf,
  incomeReceipt,
  incomeStatement,
  statementMonth,
} from '../../core/statement.ts'
import { count, model, named, time, url, wallet } from './common.ts'

named('IncomeLeaf', incomeLeaf)
named('IncomeReceipt', incomeReceipt)
named('IncomeCorrection', incomeCorrection)
named('IncomeStatement', incomeStatement)

const { month, closed_at, total_usdc, running_total_usdc } = incomeStatement.shape

export const statementList = model('StatementList', {
  wallet,
  count,
  statements: z.array(
    z.object({ month, closed_at, total_usdc, running_total_usdc, sha256: z.string().max(64), url }),
  ),
  open_months: z.array(z.object({ month: statementMonth, closes_at_earliest: time })),
  computed_at: time,
})
