import { z } from 'zod'

import { linesOf, rowsKeptMs } from '../../builder/rails/evidence.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { addKnown, payoutHourBody } from '../../builder/rails/payout-hour.ts'
import { firstKeptHour, windowEndingAt } from '../../builder/rails/window.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { railStatus } from '../../src/contract/schemas/rail.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import * as evidence from '../../src/core/evidence.ts'
import { figureNames, publicFigure, unknownWorkerIncome } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { judge } from '../../src/core/rules/judge.ts'
import { dayMs } from '../../src/core/time.ts'
import { flag, operand, option } from './command.ts'
import type { Command } from './command.ts'
import { UsageError } from './input.ts'
import { pollInLog } from './log.ts'
import { printChecks } from './output.ts'
import { readTurnAgain } from './read-turn-again.ts'

const hourlyStreams = z.record(
  z.string(),
  z.object({ buckets: z.array(payoutHourBody.extend({ hour: z.int() })) }),
)
const aggregatedReading = z.object({ streams: hourlyStreams })

type Sums = Map<string, { readonly units: bigint; readonly microUsdc: number | null }>

/** Sums by payer and payee, from `firstHour`; null if the rail is not read from logs. */
function sumsOf(reading: unknown, firstHour = 0): Sums | null {
  const either = z.union([aggregatedReading, z.object({ aggregated: aggregatedReading })])
  const { data } = either.safeParse(reading)
  if (data === undefined) return null
  const { streams } = 'aggregated' in data ? data.aggregated : data
  const hours = Object.values(streams).flatMap(({ buckets }) => buckets)
  const pairs = hours.filter(({ hour }) => hour >= firstHour).flatMap(({ pairs }) => pairs)
  const sums: Sums = new Map()
  for (const [payer, payee, , units, micro] of pairs)
    addTo(sums, `${payer ?? ''} ${payee}`, units, micro)
  return sums
}

function addTo(sums: Sums, pair: string, units: string, microUsdc: number | null): void {
  const before = sums.get(pair) ?? { units: 0n, microUsdc: 0 }
  const sum = {
    units: before.units + BigInt(units),
    microUsdc: addKnown(before.microUsdc, microUsdc),
  }
  sums.set(pair, sum)
}

const blockOf = (line: string): number => Number(line.split(',', 1)[0])
const isWithin = (block: number, { from, to }: evidence.LogInput): boolean =>
  block >= from.number && block <= to.number
const firstOf = (inputs: readonly evidence.LogInput[]): number =>
  Math.min(...inputs.map(({ from }) => from.number))

/** Log lines have no price, so the amounts of pairs with new payments are omitted. */
function sumLines(sums: Sums, renewed: ReadonlySet<string>): readonly string[] {
  const lines = [...sums].flatMap(([pair, { units, microUsdc }]) => {
    if (!renewed.has(pair)) return `${pair}: ${units} for ${microUsdc}`
    // A payment that is gone leaves no pair.
    return units === 0n ? [] : `${pair}: ${units}`
  })
  return lines.sort()
}

export const recompute: Command = {
  words: 'recompute',
  summary: 'Recompute the figures of a poll from its evidence',
  description:
    'Downloads the evidence, checks every SHA-256, and runs the adapter and the status rules over it. Compares the\nadditions to the aggregates with the log lines. With --rpc, also reads the logs again from that node. Prints the first\nline that differs.',
  args: {
    rail: operand('slug of the rail'),
    at: option('time', '`polled_at` of the poll (default: the newest successful poll)'),
    site: option('url', 'the same as --ledger'),
    rpc: option('url', 'node of the chain of this rail'),
    log: flag('also check that the log contains the poll with this evidence'),
  },
  groups: ['ledger', 'log'],
  run: async (session, input) => {
    const [rail, at, rpc] = [input.required('rail'), input.text('at'), input.text('rpc')]
    const { call } = session.reader()
    const checks: Check[] = []
    const compare = (what: string, published: readonly string[], found: readonly string[]) => {
      const difference = evidence.firstDifference(published, found)
      const lines = `${found.length} lines are the same`
      checks.push(check(what, difference === null, lines, difference ?? ''))
    }
    const documents = new Map<string, string>()
    const get = async (sha256: string): Promise<string> => {
      const text = documents.get(sha256) ?? (await call('getEvidence', { params: { sha256 } }))
      const found = evidence.digestOf(text)
      if (found !== sha256)
        throw new UnexpectedAnswerError(`${evidence.evidencePath(sha256)} has the SHA-256 ${found}`)
      documents.set(sha256, text)
      for (const part of evidence.partsOf(text)) await get(part)
      return text
    }
    const valueOf = async (sha256: string | undefined) =>
      sha256 === undefined ? undefined : evidence.unpack(await get(sha256), documents)
    const bundleOf = async (sha256: string) => {
      const { data, error } = evidence.checkedBundle.safeParse(await valueOf(sha256))
      if (data !== undefined) return data
      const place = error.issues[0]?.path.join('.') ?? ''
      throw new UnexpectedAnswerError(`${evidence.evidencePath(sha256)} is malformed at ${place}`)
    }

    const { polls } = await call('getRailHistory', { params: { name: rail } })
    const poll = polls.find((one) =>
      at === undefined ? one.outcome === 'ok' : one.polled_at === at,
    )
    const digest = /[0-9a-f]{64}/.exec(poll?.evidence_uri ?? '')?.[0]
    const adapter = railAdapters.find((one) => one.rail === rail)
    if (adapter === undefined || poll === undefined || digest === undefined)
      throw new UsageError(`${rail} has no such poll with evidence`)
    const { figures, removed, counters, status, lists, ...bundle } = await bundleOf(digest)
    compare('poll', [bundle.rail, bundle.at, bundle.outcome], [rail, poll.polled_at, poll.outcome])
    const window = windowEndingAt(Date.parse(bundle.window.to))
    const logsOf = ({ inputs }: Pick<typeof bundle, 'inputs'>) =>
      inputs.flatMap((one) => ('from' in one ? one : []))
    const logs = logsOf(bundle)
    let before = bundle.previous === null ? null : await bundleOf(bundle.previous)
    // Failed polls also read chunks.
    while (before !== null && before.buckets === null) {
      logs.unshift(...logsOf(before))
      before = before.previous === null ? null : await bundleOf(before.previous)
    }
    const readHere = new Map<string, readonly string[]>()
    if (rpc !== undefined) {
      for (const turn of groupBy(logs, (one) => JSON.stringify(one.lists)).values()) {
        const payouts = await readTurnAgain(adapter, turn, rpc, session, valueOf)
        for (const one of turn) {
          const { from, to, rows, rows_digest: expected } = one
          const lines = linesOf(payouts.filter(({ block }) => isWithin(block, one)))
          const what = `logs of the blocks ${from.number} to ${to.number}`
          // The later reading of a block counts, and only that one is compared with the chain.
          const later = logs.slice(logs.indexOf(one) + 1)
          const isLatest = (line: string) => !later.some((other) => isWithin(blockOf(line), other))
          const found = evidence.digestOf(lines.join('\n'))
          if (rows !== null) {
            const published = z.array(z.string()).parse(await valueOf(rows))
            compare(what, published.filter(isLatest), lines.filter(isLatest))
          } else if (found === expected) readHere.set(expected, lines)
          else if (lines.every(isLatest)) compare(what, [expected], [found])
        }
      }
    }
    if (poll.outcome === 'ok' && bundle.buckets === null)
      checks.push(check('evidence', false, '', 'the poll has figures but no evidence for them'))
    if (poll.outcome === 'ok' && bundle.buckets !== null) {
      const reading = await valueOf(bundle.buckets)
      const lookedUp = z.looseObject({}).parse((await valueOf(lists['looked_up'])) ?? {})
      const found = adapter.recompute(reading, lookedUp, window)
      const { removed30d } = found.measurement
      const former = { ...bundle.former, status: railStatus.parse(bundle.former.status) }
      const judged = judge(found.measurement, bundle.basis, former, window.endMs)
      // Bundles of an older version have no income of workers.
      const isOlder = figures?.['workerPerDayMedianMicroUsdc'] === undefined
      const recomputed = { ...judged.figures, ...(isOlder ? unknownWorkerIncome : {}) }
      const published = { ...unknownWorkerIncome, ...figures }
      const lines = (value: object) => prettySorted(value).split('\n')
      const again = { figures: recomputed, removed: removed30d, status: judged.status }
      compare(
        'evidence',
        lines({ figures: published, removed, counters, status }),
        lines({ ...again, counters: found.counters }),
      )
      compare(
        'history',
        figureNames.map((name) => `${name}: ${poll[name]}`),
        figureNames.map((name) => `${name}: ${publicFigure(recomputed, name)}`),
      )
      const sums = sumsOf(reading)
      const added = sumsOf(await valueOf(before?.buckets ?? undefined), firstKeptHour(window))
      const firstBlock = firstOf(logs)
      const earlier = before === null ? [] : logsOf(before)
      // After a reorganisation the whole window was read again.
      const isReadAnew = earlier.length > 0 && firstBlock < firstOf(earlier)
      const replaced = isReadAnew ? [] : earlier.filter(({ to }) => to.number >= firstBlock)
      const all = [...replaced, ...logs]
      const oldestMs = Math.min(window.endMs, ...all.map((one) => Date.parse(one.at)))
      const isOld = Date.parse(polls[0]?.polled_at ?? '') - oldestMs > rowsKeptMs
      const isUnread = (one: evidence.LogInput) =>
        one.rows === null && !readHere.has(one.rows_digest)
      const isLong = all.some(isUnread)
      // The aggregates no longer contain the first hours of such a reading.
      const isSlow = logs.some((one) => window.endMs - Date.parse(one.at) > dayMs)
      if (sums !== null && (isOld || isLong || isSlow)) {
        const unread = isLong
          ? `are too long${logs.some(isUnread) ? '; --rpc reads them' : ''}`
          : 'were read over more than a day'
        const reason = isOld ? 'are older than 35 days' : unread
        checks.push(check('aggregates', true, `not compared, since the log lines ${reason}`))
      } else if (sums !== null) {
        const expected: Sums = (isReadAnew ? null : added) ?? new Map()
        const renewed = new Set<string>()
        const linesOfAll = async (inputs: readonly evidence.LogInput[]) => {
          let newest: readonly string[] = []
          for (const one of inputs) {
            const { rows, rows_digest: published } = one
            const stored = readHere.get(published) ?? (await valueOf(rows ?? undefined))
            const lines = z.array(z.string()).parse(stored)
            if (evidence.digestOf(lines.join('\n')) !== published)
              checks.push(check('rows', false, '', `${rows} does not have the digest ${published}`))
            newest = [...newest.filter((line) => !isWithin(blockOf(line), one)), ...lines]
          }
          return newest
        }
        const addAll = (lines: readonly string[], sign: '' | '-') => {
          for (const line of lines) {
            const [, , , payer = '', payee = '', units = '', removedBy] = line.split(',')
            if (removedBy !== '') continue
            addTo(expected, `${payer} ${payee}`, `${sign}${units}`, null)
            renewed.add(`${payer} ${payee}`)
          }
        }
        const again = await linesOfAll(replaced)
        addAll(
          again.filter((line) => blockOf(line) >= firstBlock),
          '-',
        )
        addAll(await linesOfAll(logs), '')
        compare('aggregates', sumLines(sums, renewed), sumLines(expected, renewed))
      }
    }
    if (checks.length === 1)
      checks.push(check('evidence', false, 'nothing was checked, since the poll failed'))
    if (input.flag('log')) checks.push(...(await pollInLog(session, input, digest)))
    return printChecks(session, { rail, polled_at: poll.polled_at, evidence: digest }, checks)
  },
}
