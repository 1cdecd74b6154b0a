import { unknownFigures } from '../figures.ts'
import type { Figures } from '../figures.ts'
import { parseUsdc } from '../money.ts'
import { daysBetween } from '../time.ts'

interface AuditedFigure {
  readonly value: number
  readonly from: string
  readonly to: string
}

type AuditedName =
  | 'payouts_30d'
  | 'top_worker_share'
  | 'tpv_30d_raw_usdc'
  | 'tpv_30d_usdc'
  | 'unique_creators_30d'
  | 'unique_workers_30d'

interface Audit {
  readonly figures: { readonly [Name in AuditedName]?: AuditedFigure | undefined }
}

/** Days that the rules accept as a month. */
export const monthDays = 28

/** What the rules use of an audit. */
export function auditedFigures({ figures }: Audit): Figures {
  const { tpv_30d_usdc: filtered, tpv_30d_raw_usdc: raw, unique_creators_30d: creators } = figures
  const isMonth = creators !== undefined && daysBetween(creators.from, creators.to) >= monthDays
  return {
    ...unknownFigures,
    tpv30dMicroUsdc: filtered === undefined ? null : parseUsdc(filtered.value),
    tpv30dRawMicroUsdc: raw === undefined ? null : parseUsdc(raw.value),
    uniqueCreators30d: isMonth ? creators.value : null,
    // A count of fewer days is a lower bound: enough for the rules, but not a figure of 30 days.
    creatorsWithBudget30d: isMonth ? null : (creators?.value ?? null),
    uniqueWorkers30d: figures.unique_workers_30d?.value ?? null,
    topWorkerShare: figures.top_worker_share?.value ?? null,
    activity30d: figures.payouts_30d?.value ?? null,
  }
}
