/** The whole database file against the model. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { countedOf, iso } from './model/reading.ts'
import type { State } from './model/state.ts'

const dump = z.record(z.string(), z.array(z.array(z.unknown())))
type Row = readonly unknown[]

/** The differences, table by table. */
export function compareDump(found: unknown, state: State): readonly string[] {
  const tables = dump.parse(found)
  return Object.entries(wantedRows(state)).flatMap(([name, wanted]) => {
    const rows = tables[name] ?? []
    if (isDeepStrictEqual(rows, wanted)) return []
    const at = wanted.findIndex((row, index) => !isDeepStrictEqual(row, rows[index]))
    const place = at === -1 ? wanted.length : at
    const [actual, expected] = [rows[place], wanted[place]].map(
      (row) => JSON.stringify(row) ?? 'nothing',
    )
    const sizes = `of ${rows.length}, and not ${wanted.length}`
    return [`${name}: row ${place} (${sizes}) is ${actual}, and not ${expected}`]
  })
}

/** Members as columns: times (`…Ms`) as ISO text, booleans (`binds…`) as 0 or 1. */
function columns<Record extends object>(
  record: Record,
  ...names: readonly (keyof Record & string)[]
): Row {
  return names.map((name) => {
    const value = record[name]
    if (typeof value === 'boolean') return value ? 1 : 0
    return name.endsWith('Ms') && typeof value === 'number' ? iso(value) : value
  })
}

function wantedRows(state: State): Record<string, readonly Row[]> {
  const { workers, names, receipts, entries, claims, partners, subscriptions, jobs } = state
  const wallets = [...new Set(entries.map(({ wallet }) => wallet))]
  const keyed = (map: State['used'], ...more: readonly ('status' | 'untilMs')[]): readonly Row[] =>
    sorted(
      [...map].map(([key, kept]) => [...key.split(' '), ...columns(kept, 'requestSha', ...more)]),
    )
  return {
    workers: [...workers].map(([wallet, one]) => [
      wallet,
      ...columns(one, 'name', 'skills', 'receiptKey', 'registeredMs', 'updatedMs'),
    ]),
    'worker skills': sorted(
      [...workers].flatMap(([wallet, { skills }]) => skills.map((skill) => [wallet, skill])),
    ),
    names: sorted(
      [...names].map(([key, one]) => [key.split(' ')[0], ...columns(one, 'wallet', 'sinceMs')]),
    ),
    receipts: [...receipts.values()].map((one) => [
      ...columns(one, 'id', 'to', 'from', 'submitter', 'kind', 'platform', 'amountMicro', 'atMs'),
      one.jobId,
    ]),
    entries: entries.map((one) => [
      ...columns(one, 'wallet', 'receiptId', 'payer', 'rank', 'amountMicro', 'valueMicro', 'atMs'),
    ]),
    standings: sorted(
      wallets.map((wallet) => {
        const counted = countedOf(entries, wallet)
        const lifetime = counted.reduce((sum, { amountMicro }) => sum + amountMicro, 0)
        const all = entries.filter((entry) => entry.wallet === wallet)
        return [wallet, all.length, counted.length, lifetime]
      }),
    ),
    claims: [...claims.values()].map((one) => columns(one, 'wallet', 'email', 'name', 'atMs')),
    codes: sorted(
      [...state.codes].map(([email, one]) => [
        email,
        ...columns(one, 'hash', 'name', 'tries', 'expiresMs'),
      ]),
    ),
    partners: [...partners].map(([handle, one]) => [
      handle,
      ...columns(one, 'wallet', 'name', 'tier', 'status', 'website', 'bindsBody', 'url'),
      ...columns(one, 'signedMs', 'atMs'),
    ]),
    changes: state.changes,
    webhooks: sorted(
      [...subscriptions].map(([id, one]) => [
        id,
        ...columns(one, 'wallet', 'url', 'rails'),
        one.isDisabled ? 'disabled' : 'active',
        ...columns(one, 'atMs', 'afterSeq'),
      ]),
    ),
    'deliveries of webhooks': sorted(
      [...state.webhookDeliveries].map(([id, one]) => [
        id,
        ...columns(one, 'subscription', 'eventSeq', 'type', 'status', 'attempts'),
      ]),
    ),
    applications: state.applications.map((row) => [...row.slice(0, 5), ...row.slice(4)]),
    jobs: [...jobs].map(([id, one]) => [
      id,
      ...columns(one, 'poster', 'title', 'status', 'deadlineMs'),
      one.bids.size,
      one.awardee === null ? null : (one.bids.get(one.awardee)?.id ?? null),
      one.receiptId,
    ]),
    bids: sorted(
      [...jobs].flatMap(([job, { bids }]) =>
        [...bids].map(([bidder, { id, priceMicro, status }]) => {
          return [id, job, bidder, priceMicro, status]
        }),
      ),
    ),
    deliveries: state.deliveries,
    moves: state.moves,
    audit: state.audit,
    feedback: state.feedback.map((one) => columns(one, 'id', 'text', 'atMs')),
    proposals: state.proposals.map((one) => columns(one, 'id', 'text', 'atMs')),
    used: keyed(state.used, 'status'),
    keys: keyed(state.keys, 'status', 'untilMs'),
  }
}

/** By the first columns, as SQLite sorts text. */
function sorted(rows: readonly Row[]): readonly Row[] {
  const key = (row: Row) => row.slice(0, 2).join('\u{0}')
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}
