/** The whole file against the model. */
import { z } from 'zod'

import { isSame } from './likeness.ts'
import { countedOf, iso } from './model/reading.ts'
import type { State } from './model/state.ts'

const dump = z.record(z.string(), z.array(z.array(z.unknown())))

/** What differs, table by table. */
export function compareDump(found: unknown, state: State): readonly string[] {
  const tables = dump.parse(found)
  return Object.entries(wantedRows(state)).flatMap(([name, wanted]) => {
    const rows = tables[name] ?? []
    if (isSame(rows, wanted)) return []
    const at = wanted.findIndex((row, index) => !isSame(row, rows[index]))
    const place = at === -1 ? wanted.length : at
    const [there, here] = [rows[place], wanted[place]].map(
      (row) => JSON.stringify(row) ?? 'nothing',
    )
    return [
      `${name}: row ${place} of ${rows.length} is ${there}, and not ${here} (of ${wanted.length})`,
    ]
  })
}

type Row = readonly unknown[]

function wantedRows(state: State): Record<string, readonly Row[]> {
  const { workers, names, receipts, entries, claims, partners, subscriptions, jobs } = state
  const timed = ({ id, text, atMs }: State['feedback'][number]): Row => [id, text, iso(atMs)]
  const wallets = [...new Set(entries.map(({ wallet }) => wallet))]
  return {
    workers: [...workers].map(([wallet, one]) => [
      wallet,
      one.name,
      one.skills,
      one.receiptKey,
      iso(one.registeredMs),
      iso(one.updatedMs),
    ]),
    'worker skills': sorted(
      [...workers].flatMap(([wallet, { skills }]) => skills.map((skill) => [wallet, skill])),
    ),
    names: sorted(
      [...names].map(([key, { wallet, sinceMs }]) => [key.split(' ')[0], wallet, iso(sinceMs)]),
    ),
    receipts: [...receipts.values()].map((one) => [
      one.id,
      one.to,
      one.from,
      one.submitter,
      one.kind,
      one.platform,
      one.amountMicro,
      iso(one.atMs),
      one.jobId,
    ]),
    entries: entries.map((one) => [
      one.wallet,
      one.receiptId,
      one.payer,
      one.rank,
      one.amountMicro,
      one.valueMicro,
      iso(one.atMs),
    ]),
    standings: sorted(
      wallets.map((wallet) => {
        const counts = countedOf(entries, wallet)
        const lifetime = counts.reduce((sum, { amountMicro }) => sum + amountMicro, 0)
        const all = entries.filter((entry) => entry.wallet === wallet)
        return [wallet, all.length, counts.length, lifetime]
      }),
    ),
    claims: [...claims.values()].map(({ wallet, email, name, atMs }) => [
      wallet,
      email,
      name,
      iso(atMs),
    ]),
    codes: sorted(
      [...state.codes].map(([email, { hash, name, tries, expiresMs }]) => [
        email,
        hash,
        name,
        tries,
        iso(expiresMs),
      ]),
    ),
    partners: [...partners].map(([handle, one]) => [
      handle,
      one.wallet,
      one.name,
      one.tier,
      one.status,
      one.website,
      one.bindsBody ? 1 : 0,
      one.url,
      one.signedMs === null ? null : iso(one.signedMs),
      iso(one.atMs),
    ]),
    changes: state.changes,
    webhooks: sorted(
      [...subscriptions].map(([id, { wallet, url, rails, atMs, afterSeq, isDisabled }]) => [
        id,
        wallet,
        url,
        rails,
        isDisabled ? 'disabled' : 'active',
        iso(atMs),
        afterSeq,
      ]),
    ),
    'deliveries of webhooks': sorted(
      [...state.postings].map(([id, { subscription, eventSeq, type, status, attempts }]) => [
        id,
        subscription,
        eventSeq,
        type,
        status,
        attempts,
      ]),
    ),
    applications: state.applications.map(([id, by, rail, worker, mode, at]) => [
      id,
      by,
      rail,
      worker,
      mode,
      mode,
      at,
    ]),
    jobs: [...jobs].map(([id, one]) => [
      id,
      one.poster,
      one.title,
      one.status,
      iso(one.deadlineMs),
      one.bids.size,
      one.awardee === null ? null : (one.bids.get(one.awardee)?.id ?? null),
      one.receiptId,
    ]),
    bids: sorted(
      [...jobs].flatMap(([job, { bids }]) =>
        [...bids].map(([bidder, { id, priceMicro, status }]) => [
          id,
          job,
          bidder,
          priceMicro,
          status,
        ]),
      ),
    ),
    deliveries: state.deliveries,
    moves: state.moves,
    audit: state.audit,
    feedback: state.feedback.map(timed),
    proposals: state.proposals.map(timed),
    used: sorted(
      [...state.used].map(([key, { requestSha, status }]) => [
        ...key.split(' '),
        requestSha,
        status,
      ]),
    ),
    keys: sorted(
      [...state.keys].map(([key, { requestSha, status, untilMs }]) => [
        ...key.split(' '),
        requestSha,
        status,
        iso(untilMs),
      ]),
    ),
  }
}

/** By the first columns, as SQLite sorts text. */
function sorted(rows: readonly Row[]): readonly Row[] {
  const key = (row: Row) => row.slice(0, 2).join('\u{0}')
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}
