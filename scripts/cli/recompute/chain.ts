/** Compares published lines with the chain. */
import { z } from 'zod'

import { isLatest, joined, rangeOf } from '../../../builder/rails/hours-of-lines.ts'
import type { BlockRange } from '../../../builder/rails/hours-of-lines.ts'
import { payoutOfLine } from '../../../builder/rails/payout-lines.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import { isLogInput } from '../../../src/core/evidence.ts'
import type { BlockInput, PriceInput } from '../../../src/core/evidence.ts'
import { hourMs, isoTime } from '../../../src/core/time.ts'
import { UsageError } from '../input.ts'
import type { Session } from '../session.ts'
import type { Bundles } from './evidence.ts'
import { publishedLines } from './hours.ts'
import { readAgain } from './read-again.ts'
import type { Recomputation, Report } from './report.ts'

const sampleSize = 8

interface ReadBlocks {
  readonly input: BlockInput
  readonly prices: readonly PriceInput[]
  /** Inputs of the same part of the poll before this one, whose keys it remembered. */
  readonly earlier: readonly BlockInput[]
  /** Blocks that were read again later. */
  readonly later: readonly BlockRange[]
}

/** Reads the blocks of some inputs again, chosen at random, and the times of the first and the last block. */
export async function compareWithChain(
  recomputation: Recomputation,
  { rpc, all }: { readonly rpc: string; readonly all: boolean },
): Promise<void> {
  const { adapter, bundles, evidence, report, session } = recomputation
  const reads = readsOf(bundles)
  const chosen = all ? reads : sample(reads, session)
  const chain = adapter.chains.find((name) => name !== 'solana')
  if (chain === undefined) throw new UsageError(`${adapter.rail} is not read from an EVM chain`)
  const reader = createChainReader(chain, rpc, session)
  report.note('chain', `${chosen.length} of ${reads.length} readings are compared with the node`)
  const [newest] = joined(reads.map(({ input }) => rangeOf(input)))
  if (newest !== undefined) {
    const { start30dMs, endMs } = windowEndingAt(Date.parse(bundles[0].at))
    const firstBlock = Math.max(1, await reader.blockAtTime(start30dMs))
    const toMs = await reader.blockTime(newest.to)
    const isWhole = newest.from <= firstBlock && endMs - toMs <= hourMs
    const read = `the blocks ${newest.from} to ${newest.to} of ${isoTime(toMs)} were read`
    report.check('window', isWhole, read, `${read}; it begins with block ${firstBlock}`)
  }
  for (const read of chosen) {
    const { input, later } = read
    const what = `logs of the blocks ${input.from.number} to ${input.to.number}`
    const published = await publishedLines(input, evidence)
    if (published === null) {
      report.open(what, 'their lines are not published')
      continue
    }
    const remembered = [input.lists['memory'], ...read.earlier.map((one) => one.remembered)]
    const keys = await Promise.all(
      remembered.map(async (list) => (await evidence.value(list)) ?? []),
    )
    const memory = keys.flatMap((list) => z.array(z.string()).parse(list))
    const found = await readAgain(recomputation, reader, input, memory)
    const lines = published.filter((line) => isLatest(line, later, input))
    const again = found.lines.filter((line) => isLatest(line, later, input))
    report.compare(what, lines.map(withoutValue), again.map(withoutValue))
    compareTimes(what, lines, again, report)
    const isHere = ({ block }: PriceInput) => block === input.to.number
    report.compare(
      `prices at block ${input.to.number}`,
      read.prices.filter(isHere).map(priceLine),
      found.prices.filter(isHere).map(priceLine),
    )
  }
}

function readsOf(bundles: Bundles): readonly ReadBlocks[] {
  let later: readonly BlockRange[] = []
  return bundles.flatMap(({ inputs, prices }) => {
    const blocks = inputs.flatMap((one) => (isLogInput(one) && 'to' in one ? one : []))
    return blocks.toReversed().map((input): ReadBlocks => {
      const earlier = blocks.filter(
        (one) => one.at === input.at && one.to.number < input.from.number,
      )
      const read = { input, prices, earlier, later }
      later = joined([...later, rangeOf(input)])
      return read
    })
  })
}

function sample<One>(all: readonly One[], { random }: Pick<Session, 'random'>): readonly One[] {
  return all
    .map((one) => ({ one, order: random.unit() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, sampleSize)
    .map(({ one }) => one)
}

/** Without time and micro-USDC: times between blocks may be interpolated, and the value follows from units and price. */
function withoutValue(line: string): string {
  return line.split(',').slice(0, 8).join(',')
}

function compareTimes(
  what: string,
  lines: readonly string[],
  again: readonly string[],
  report: Report,
): void {
  const timeOf = (line: string | undefined) => payoutOfLine(line ?? '')?.payout.atMs ?? 0
  const wrong = lines.findIndex((line, at) => Math.abs(timeOf(line) - timeOf(again[at])) > hourMs)
  const times = `${what}: published ${lines[wrong]}, recomputed ${again[wrong]}`
  if (wrong !== -1) report.check('times', false, times)
}

function priceLine({ feed, block, answer }: PriceInput): string {
  return `${feed} at ${block}: ${answer}`
}
