import { z } from 'zod'

import { createChainReader } from '../../builder/chain/reader.ts'
import { figureNames, publicFigure } from '../../builder/documents/rail-view.ts'
import type { AdapterContext } from '../../builder/rails/adapter.ts'
import { linesOf } from '../../builder/rails/evidence.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import type { Payout } from '../../builder/rails/payouts.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { sendGet } from '../../src/client/transport.ts'
import { pathOf } from '../../src/contract/routes.ts'
import { railHistory, railStatus } from '../../src/contract/schemas/rail.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import * as evidence from '../../src/core/evidence.ts'
import { judge } from '../../src/core/rules/judge.ts'
import { operand, option } from './command.ts'
import type { Command } from './command.ts'
import { UsageError } from './input.ts'
import { exitCodes } from './output.ts'

class Difference extends Error {}

export const recompute: Command = {
  words: 'recompute',
  summary: 'Recompute the figures of a poll from its evidence',
  description:
    'Downloads the evidence, checks every SHA-256, and runs the adapter and the status rules over it. With --rpc, also reads the\nlogs again from that node. Prints the first line that differs.',
  args: {
    rail: operand('slug of the rail'),
    at: option('time', '`polled_at` of the poll (default: the newest successful one)'),
    site: option('url', 'address of the ledger (default: LEDGER_URL)'),
    rpc: option('url', 'node of the chain of this rail'),
  },
  run: async (session, input) => {
    const site = siteUrlOf(input.text('site') ?? session.ledger)
    const [rail, at, rpc] = [input.required('rail'), input.text('at'), input.text('rpc')]
    const adapter = railAdapters.find((one) => one.rail === rail)
    const documents = new Map<string, string>()
    const load = async (path: string) => {
      const { status, bytes } = await sendGet(session, `${site}${path}`)
      if (status === 200) return Buffer.from(bytes).toString('utf8')
      throw new UsageError(`${path} is not published`)
    }
    const get = async (sha256: string): Promise<string> => {
      const path = evidence.evidencePath(sha256)
      const text = documents.get(sha256) ?? (await load(path))
      const found = evidence.digestOf(text)
      if (found !== sha256) throw new Difference(`${path}: the file has the SHA-256 ${found}`)
      documents.set(sha256, text)
      for (const part of evidence.partsOf(text)) await get(part)
      return text
    }
    const valueOf = async (sha256: string | undefined) =>
      sha256 === undefined ? undefined : evidence.unpack(await get(sha256), documents)
    const compare = (what: string, published: readonly string[], found: readonly string[]) => {
      const difference = evidence.firstDifference(published, found)
      if (difference !== null) throw new Difference(`${what}: ${difference}`)
      session.write(`good  ${what}\n`)
    }
    try {
      const history = await load(pathOf('getRailHistory', { name: rail }))
      const poll = railHistory
        .parse(JSON.parse(history))
        .polls.find((one) => (at === undefined ? one.outcome === 'ok' : one.polled_at === at))
      const digest = poll?.evidence_uri?.match(/[0-9a-f]{64}/)?.[0]
      if (adapter === undefined || poll === undefined || digest === undefined)
        throw new UsageError(`there is no such poll of ${rail} with evidence`)
      const bundle = evidence.checkedBundle.parse(JSON.parse(await get(digest)))
      const { figures, removed, counters, status, lists, previous } = bundle
      const window = windowEndingAt(Date.parse(bundle.window.to))
      if (poll.outcome === 'ok' && bundle.buckets !== null) {
        const reading = await valueOf(bundle.buckets)
        const found = adapter.recompute(reading, await valueOf(lists['looked_up']), window)
        const former = { ...bundle.former, status: railStatus.parse(bundle.former.status) }
        const judged = judge(found.measurement, bundle.basis, former, window.endMs)
        const claims = {
          figures: judged.figures,
          removed: found.measurement.removed30d,
          counters: found.counters,
          status: judged.status,
        }
        const lines = (value: object) => prettySorted(value).split('\n')
        compare('evidence', lines({ figures, removed, counters, status }), lines(claims))
        const row = (of: (name: (typeof figureNames)[number]) => number | null) =>
          figureNames.map((name) => `${name}: ${of(name)}`)
        compare(
          'history',
          row((name) => poll[name]),
          row((name) => publicFigure(judged.figures, name)),
        )
      }
      const logs = bundle.inputs.flatMap((one) => ('chain' in one ? one : []))
      const [first, last] = [logs[0], logs.at(-1)]
      if (rpc === undefined || first === undefined || last === undefined) return exitCodes.ok
      const before =
        previous === null ? null : evidence.checkedBundle.parse(JSON.parse(await get(previous)))
      const memory = (await valueOf(before?.lists['memory'])) ?? []
      const payouts: Payout[] = []
      const cursor = { block: first.from.number - 1, lastPayoutAtMs: null, memory }
      const nothing = () => Promise.resolve()
      const ctx: AdapterContext = {
        window,
        http: { json: () => Promise.reject(new UsageError('this rail reads more than logs')) },
        chain: (name) => ({
          ...createChainReader(name, rpc, session),
          settledHead: () => Promise.resolve(last.to.number),
        }),
        hasNode: () => true,
        solana: () => {
          throw new UsageError('logs of Solana are not read again')
        },
        payouts: {
          open: (_stream, _hour, schema) =>
            Promise.resolve({
              cursor: () => schema.parse(cursor),
              add: () => undefined,
              save: nothing,
              hours: () => [],
              lastPayoutAtMs: () => null,
            }),
        },
        past: [],
        backfill: { stored: null, save: nothing },
        evidence: {
          list: async (name, read) =>
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
            ((await valueOf(lists[name])) as Awaited<ReturnType<typeof read>>) ?? (await read()),
          addChunk: async (chunk) => await Promise.resolve(void payouts.push(...chunk.payouts)),
          setReading: () => undefined,
        },
        isTurnOver: () => false,
        signal: new AbortController().signal,
      }
      await adapter.read(ctx)
      for (const { from, to, rows, rows_digest: expected } of logs) {
        const lines = linesOf(
          payouts.filter(({ block }) => block >= from.number && block <= to.number),
        )
        const found = rows === null ? [evidence.digestOf(lines.join('\n'))] : lines
        const what = `rows of the blocks ${from.number} to ${to.number}`
        const published =
          rows === null ? [expected] : z.array(z.string()).parse(JSON.parse(await get(rows)))
        compare(what, published, found)
      }
    } catch (error) {
      if (!(error instanceof Difference)) throw error
      session.write(`BAD   ${error.message}\n`)
      return exitCodes.refused
    }
    return exitCodes.ok
  },
}
