/** Runs an adapter over the published answers, lists and lines, and compares what it reads with what the poll published. */
import { z } from 'zod'

import type { AdapterContext } from '../../../builder/rails/adapter.ts'
import type { ListSource } from '../../../builder/rails/evidence.ts'
import type { AggregatedLogs, StreamValues } from '../../../builder/rails/streams.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { isLogInput, linesOfValue } from '../../../src/core/evidence.ts'
import type { Bundle } from '../../../src/core/evidence.ts'
import { parseJson } from '../../../src/outbound/http-client.ts'
import { nothingStored, refuse } from './context.ts'
import { NotKept } from './evidence.ts'
import type { Bundles, EvidenceReader } from './evidence.ts'
import { compareHours } from './hours.ts'
import type { Recomputation } from './report.ts'

export async function replay(recomputation: Recomputation, published: unknown): Promise<void> {
  const { adapter, bundles, evidence, report } = recomputation
  const [bundle, ...before] = bundles
  const compareWith = async (
    what: string,
    stored: unknown,
    read: () => unknown,
    hidden: readonly string[] = [],
  ) => {
    const compare = async () =>
      report.compare(what, linesOfValue(stored, hidden), linesOfValue(await read(), hidden))
    await report.attempt(what, compare, 'taken as published: ')
  }
  const ctx: AdapterContext = {
    ...nothingStored({ lastPayoutAtMs: null, hosts: await formerSellers(bundles, evidence) }),
    window: windowEndingAt(Date.parse(bundle.at)),
    http: { json: answersOf(bundle, evidence) },
    chain: refuse,
    hasNode: () => false,
    solana: refuse,
    past: before.flatMap(({ at, outcome, counters }) =>
      outcome === 'ok' ? [{ polledAtMs: Date.parse(at), counters }] : [],
    ),
    evidence: {
      list: async <List>(name: string, read: () => List | Promise<List>, source?: ListSource) => {
        const stored = await evidence.value(bundle.lists[name])
        if (stored === undefined) throw new NotKept(`the poll has no list ${name}`)
        // The check of the chain compares the others.
        if (source !== 'chain') await compareWith(`list ${name}`, stored, read)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the poll packed it
        return stored as List
      },
      addChunk: refuse,
      addLookUp: refuse,
      setReading: refuse,
    },
    fromLines: async <Stream extends string>(
      streams: StreamValues<Stream>,
      contracts?: ReadonlySet<string>,
    ) => {
      const { measurement } = adapter.recompute(published, {}, ctx.window)
      const named = measurement.evidence.flatMap((one) => (one.kind === 'logs' ? one.contract : []))
      // They count as hubs.
      if (contracts !== undefined)
        report.compare('contracts', named.toSorted(), [...contracts].toSorted())
      const whole = logReading.parse(published)
      await compareHours(recomputation, streams, whole.streams)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a poll packed it, and its hours were compared
      return whole as AggregatedLogs<Stream>
    },
  }
  const hidden = adapter.chains.length === 0 ? [] : ['streams', 'buckets']
  await compareWith('reading', published, () => adapter.read(ctx), hidden)
}

/** The aggregates within a reading. Those of Solana are one stream. */
const logReading = z.union([
  z
    .object({ aggregated: z.looseObject({ streams: z.unknown() }) })
    .transform((one) => one.aggregated),
  z.looseObject({ streams: z.unknown() }),
  z
    .looseObject({ buckets: z.unknown(), pointers: z.unknown() })
    .transform(({ pointers, ...usdc }) => {
      return { streams: { usdc }, evidence: pointers, notes: [] }
    }),
])

/** Answers the requests of an adapter as the host did. */
function answersOf({ inputs }: Bundle, evidence: EvidenceReader): AdapterContext['http']['json'] {
  const unused = inputs.flatMap((one) => ('url' in one ? one : []))
  return async (url) => {
    const at = unused.findIndex((one) => one.url === url)
    const [answer] = at === -1 ? [] : unused.splice(at, 1)
    if (answer === undefined) throw new NotKept(`the poll read no answer of ${url}`)
    const { sha256, bytes, read_from: readFrom, overridden, kept_until: keptUntil = null } = answer
    if (keptUntil === null) throw new NotKept('the answers were not kept, as they were too long')
    const text = await evidence.ifPublished(evidence.text(sha256))
    if (text === null) throw new NotKept(`the answers were kept until ${keptUntil}`)
    return { url, body: parseJson(text), text, sha256, bytes, readFrom, overridden }
  }
}

const sellers = z.map(z.string(), z.string())
const sellersList = z.union([sellers, z.object({ sellers }).transform((list) => list.sellers)])

/** The hosts of sellers that the poll before knew, or an earlier part of this one. */
async function formerSellers(
  [bundle, ...before]: Bundles,
  evidence: EvidenceReader,
): Promise<Readonly<Record<string, string>>> {
  const partsOf = ({ inputs }: Bundle) =>
    inputs.flatMap((one) => (isLogInput(one) ? one : [])).toReversed()
  const earlier = partsOf(bundle).filter(({ at }) => at < bundle.at)
  const lists = [...earlier, ...before.flatMap((one) => [one, ...partsOf(one)])]
  const former = lists.find((one) => one.lists['sellers'] !== undefined)?.lists['sellers']
  return former === undefined
    ? {}
    : Object.fromEntries(sellersList.parse(await evidence.value(former)))
}
