import { z } from 'zod'

import { createChainReader } from '../../builder/chain/reader.ts'
import type { AdapterContext } from '../../builder/rails/adapter.ts'
import { linesOf } from '../../builder/rails/evidence.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { payoutHourBody } from '../../builder/rails/payout-hour.ts'
import type { Payout } from '../../builder/rails/payouts.ts'
import { firstKeptHour, windowEndingAt } from '../../builder/rails/window.ts'
import { UnexpectedAnswerError } from '../../src/client/errors.ts'
import { railStatus } from '../../src/contract/schemas/rail.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { check } from '../../src/core/check.ts'
import type { Check } from '../../src/core/check.ts'
import * as evidence from '../../src/core/evidence.ts'
import { figureNames, publicFigure } from '../../src/core/figures.ts'
import { judge } from '../../src/core/rules/judge.ts'
import { operand, option } from './command.ts'
import type { Command } from './command.ts'
import { UsageError } from './input.ts'
import { printChecks } from './output.ts'

const hourlyStreams = z.record(
  z.string(),
  z.object({ buckets: z.array(payoutHourBody.extend({ hour: z.int() })) }),
)
const aggregatedReading = z.object({ streams: hourlyStreams })

/** Base units by payer and payee, of the hours from `firstHour` on; null if the rail is not read from logs. */
function sumsOf(reading: unknown, firstHour = 0): Map<string, bigint> | null {
  const either = z.union([aggregatedReading, z.object({ aggregated: aggregatedReading })])
  const { data } = either.safeParse(reading)
  if (data === undefined) return null
  const { streams } = 'aggregated' in data ? data.aggregated : data
  const hours = Object.values(streams).flatMap(({ buckets }) => buckets)
  const pairs = hours.filter(({ hour }) => hour >= firstHour).flatMap(({ pairs }) => pairs)
  const sums = new Map<string, bigint>()
  for (const [payer, payee, , units] of pairs) addUnits(sums, payer ?? '', payee, units)
  return sums
}

function addUnits(sums: Map<string, bigint>, payer: string, payee: string, units: string): void {
  const pair = `${payer} ${payee}`
  sums.set(pair, (sums.get(pair) ?? 0n) + BigInt(units))
}

const sumLines = (sums: ReadonlyMap<string, bigint>): readonly string[] =>
  [...sums].map(([pair, units]) => `${pair}: ${units}`).sort()

export const recompute: Command = {
  words: 'recompute',
  summary: 'Recompute the figures of a poll from its evidence',
  description:
    'Downloads the evidence, checks every SHA-256, and runs the adapter and the status rules over it. With --rpc, also reads\nthe logs again from that node. Names the first line that differs.',
  args: {
    rail: operand('slug of the rail'),
    at: option('time', '`polled_at` of the poll (default: the newest successful poll)'),
    site: option('url', 'the same as --ledger'),
    rpc: option('url', 'node of the chain of this rail'),
  },
  groups: ['ledger'],
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
    const bundleOf = async (sha256: string) => evidence.checkedBundle.parse(await valueOf(sha256))

    const { polls } = await call('getRailHistory', { params: { name: rail } })
    const poll = polls.find((one) =>
      at === undefined ? one.outcome === 'ok' : one.polled_at === at,
    )
    const digest = /[0-9a-f]{64}/.exec(poll?.evidence_uri ?? '')?.[0]
    const adapter = railAdapters.find((one) => one.rail === rail)
    if (adapter === undefined || poll === undefined || digest === undefined)
      throw new UsageError(`${rail} has no such poll with evidence`)
    const { figures, removed, counters, status, lists, ...bundle } = await bundleOf(digest)
    compare('poll', [rail, poll.polled_at, poll.outcome], [bundle.rail, bundle.at, bundle.outcome])
    const window = windowEndingAt(Date.parse(bundle.window.to))
    const logsOf = ({ inputs }: Pick<typeof bundle, 'inputs'>) =>
      inputs.flatMap((one) => ('rows_digest' in one ? one : []))
    const logs = logsOf(bundle)
    let before = bundle.previous === null ? null : await bundleOf(bundle.previous)
    // Failed polls have read chunks too.
    while (before !== null && before.buckets === null) {
      logs.unshift(...logsOf(before))
      before = before.previous === null ? null : await bundleOf(before.previous)
    }
    if (poll.outcome === 'ok' && bundle.buckets === null)
      checks.push(
        check('evidence', false, '', 'the poll has figures, and nothing they follow from'),
      )
    if (poll.outcome === 'ok' && bundle.buckets !== null) {
      const reading = await valueOf(bundle.buckets)
      const lookedUp = z.looseObject({}).parse((await valueOf(lists['looked_up'])) ?? {})
      const found = adapter.recompute(reading, lookedUp, window)
      const { removed30d } = found.measurement
      const former = { ...bundle.former, status: railStatus.parse(bundle.former.status) }
      const judged = judge(found.measurement, bundle.basis, former, window.endMs)
      const lines = (value: object) => prettySorted(value).split('\n')
      const again = { figures: judged.figures, removed: removed30d, status: judged.status }
      compare(
        'evidence',
        lines({ figures, removed, counters, status }),
        lines({ ...again, counters: found.counters }),
      )
      compare(
        'history',
        figureNames.map((name) => `${name}: ${poll[name]}`),
        figureNames.map((name) => `${name}: ${publicFigure(judged.figures, name)}`),
      )
      const sums = sumsOf(reading)
      const added = sumsOf(await valueOf(before?.buckets ?? undefined), firstKeptHour(window))
      if (sums !== null && logs.every(({ rows }) => rows !== null)) {
        const expected = added ?? new Map<string, bigint>()
        for (const { rows, rows_digest: published } of logs) {
          const lines = z.array(z.string()).parse(await valueOf(rows ?? undefined))
          if (evidence.digestOf(lines.join('\n')) !== published)
            checks.push(check('rows', false, '', `${rows} does not have the digest ${published}`))
          for (const line of lines) {
            const [, , , payer = '', payee = '', units = '', removedBy] = line.split(',')
            if (removedBy === '') addUnits(expected, payer, payee, units)
          }
        }
        compare('aggregates', sumLines(sums), sumLines(expected))
      }
    }
    const [first, last] = [logs[0], logs.at(-1)]
    if (rpc !== undefined && first !== undefined && last !== undefined) {
      const cursor = {
        block: first.from.number - 1,
        lastPayoutAtMs: null,
        memory: (await valueOf(before?.lists['memory'])) ?? [],
      }
      const payouts: Payout[] = []
      const nothing = () => Promise.resolve()
      const stream = { add: nothing, save: nothing, hours: () => [], lastPayoutAtMs: () => null }
      const refuse = (): never => {
        throw new UsageError(`${rail} is not read from logs alone`)
      }
      const ctx: AdapterContext = {
        window,
        http: { json: refuse },
        solana: refuse,
        chain: (name) => {
          const reader = createChainReader(name, rpc, session)
          return { ...reader, settledHead: () => Promise.resolve(last.to.number) }
        },
        payouts: {
          open: async (_stream, _hour, schema) =>
            await Promise.resolve({ ...stream, cursor: () => schema.parse(cursor) }),
        },
        evidence: {
          list: async <List>(name: string, read: () => List | Promise<List>) =>
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
            ((await valueOf(lists[name])) as List | undefined) ?? (await read()),
          addChunk: async (chunk) => await Promise.resolve(void payouts.push(...chunk.payouts)),
          setReading: () => undefined,
        },
        hasNode: () => true,
        past: [],
        backfill: { stored: null, save: nothing },
        isTurnOver: () => false,
        signal: new AbortController().signal,
      }
      await adapter.read(ctx)
      for (const { from, to, rows, rows_digest: expected } of logs) {
        const within = payouts.filter(({ block }) => block >= from.number && block <= to.number)
        const lines = linesOf(within)
        const what = `logs of the blocks ${from.number} to ${to.number}`
        if (rows === null) compare(what, [expected], [evidence.digestOf(lines.join('\n'))])
        else compare(what, z.array(z.string()).parse(await valueOf(rows)), lines)
      }
    }
    return printChecks(session, { rail, polled_at: poll.polled_at, evidence: digest }, checks)
  },
}
