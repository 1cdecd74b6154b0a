import { z } from 'zod'

import { createChainReader } from '../../builder/chain/reader.ts'
import type { AdapterContext } from '../../builder/rails/adapter.ts'
import { linesOf } from '../../builder/rails/evidence.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import type { Payout } from '../../builder/rails/payouts.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
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
    const { figures, removed, counters, status, lists, previous, ...bundle } =
      await bundleOf(digest)
    const window = windowEndingAt(Date.parse(bundle.window.to))
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
    }
    const logs = bundle.inputs.flatMap((one) => ('chain' in one ? one : []))
    const [first, last] = [logs[0], logs.at(-1)]
    if (rpc !== undefined && first !== undefined && last !== undefined) {
      const before = previous === null ? undefined : (await bundleOf(previous)).lists['memory']
      const cursor = {
        block: first.from.number - 1,
        lastPayoutAtMs: null,
        memory: (await valueOf(before)) ?? [],
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
