/** Compares published lines with the chain. */
import { coinPrice } from '../../../builder/rails/chainlink.ts'
import { isLatest, joined, rangeOf } from '../../../builder/rails/hours-of-lines.ts'
import type { BlockRange } from '../../../builder/rails/hours-of-lines.ts'
import { payoutOfLine } from '../../../builder/rails/payout-lines.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { ChainError } from '../../../src/chain/errors.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import type { ChainReader } from '../../../src/chain/reader.ts'
import { address } from '../../../src/chain/values.ts'
import type { BlockInput, Bundle, PriceInput } from '../../../src/core/evidence.ts'
import { hourMs, isoTime } from '../../../src/core/time.ts'
import { UsageError } from '../input.ts'
import type { Session } from '../session.ts'
import { NotKept, keysIn, publishedLines, readingsOf } from './evidence.ts'
import type { Bundles } from './evidence.ts'
import { readLookUpsAgain } from './look-ups-again.ts'
import { readAgain } from './read-again.ts'
import { programOf } from './report.ts'
import type { Recomputation, Report } from './report.ts'

const sampleSize = 8

interface Reading {
  readonly input: BlockInput
  readonly bundle: Bundle
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
  const { adapter, bundles, report, session } = recomputation
  const chain = adapter.chains.find((name) => name !== 'solana')
  if (chain === undefined) throw new UsageError(`${adapter.rail} is not read from an EVM chain`)
  const reader = createChainReader(chain, rpc, session)
  const readings = blockReadingsOf(bundles)
  const ofProgram = readings.filter(({ bundle }) => programOf(bundle) === programOf(bundles[0]))
  const others = readings.length - ofProgram.length
  if (others > 0)
    report.open('chain', `${others} readings of other versions of the rule are not compared`)
  const choose = <One>(from: readonly One[]) => (all ? from : sample(from, session))
  const chosen = choose(ofProgram)
  report.note('chain', `${chosen.length} of ${readings.length} readings are compared with the node`)
  const [newest] = joined(readings.map(({ input }) => rangeOf(input)))
  if (newest !== undefined) {
    const { start30dMs, endMs } = windowEndingAt(Date.parse(bundles[0].at))
    const firstBlock = Math.max(1, await reader.blockAtTime(start30dMs))
    const toMs = await reader.blockTime(newest.to)
    const isWhole = newest.from <= firstBlock && endMs - toMs <= hourMs
    const read = `the blocks ${newest.from} to ${newest.to} of ${isoTime(toMs)} were read`
    report.check('window', isWhole, read, `${read}; it begins with block ${firstBlock}`)
  }
  for (const reading of chosen)
    await report.attempt(nameOf(reading), () => compareReading(recomputation, reader, reading))
  await readLookUpsAgain(recomputation, reader, choose)
}

const nameOf = ({ input: { from, to } }: Reading) =>
  `logs of the blocks ${from.number} to ${to.number}`

async function compareReading(
  recomputation: Recomputation,
  reader: ChainReader,
  reading: Reading,
): Promise<void> {
  const { evidence, report } = recomputation
  const { input, later, bundle } = reading
  const what = nameOf(reading)
  const published = await publishedLines(input, evidence)
  if (published === null) throw new NotKept('their lines are not published')
  const keys: string[] = []
  for (const list of [input.lists['memory'], ...reading.earlier.map((one) => one.remembered)])
    keys.push(...keysIn(await evidence.list(list)))
  const found = await readAgain(recomputation, reader, input, keys)
  const isCounted = (line: string) => isLatest(line, later, input)
  const [lines, again] = [published.filter(isCounted), found.lines.filter(isCounted)]
  report.compare(what, lines.map(withoutValue), again.map(withoutValue))
  compareTimes(what, lines, again, report)
  const { number, hash } = input.to
  // A lagging node, or blocks that were replaced later, may have led to other keys and hashes.
  if (!later.some(({ from, to }) => from <= number && to >= input.from.number)) {
    const remembered = keysIn(await evidence.value(input.remembered))
    report.compare(`keys of ${what}`, remembered.toSorted(), found.remembered.toSorted())
    await reader.blockTime(number)
    if (hash !== null)
      report.compare(`hash of ${number}`, [hash], [String(reader.knownHash(number))])
  }
  for (const price of bundle.prices.filter(({ block }) => block === number))
    await comparePrice(reader, price, report)
}

async function comparePrice(
  reader: ChainReader,
  { feed, block, answer, latest = false }: PriceInput,
  report: Report,
): Promise<void> {
  const what = `price at block ${block}`
  if (latest) {
    report.open(what, 'the node of the poll kept no state of the block; the price is of its head')
    return
  }
  try {
    const { price } = await coinPrice(reader, address.parse(feed), block, false)
    report.compare(what, [String(answer)], [String(price)])
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    report.open(what, `the node keeps no state of the block: ${error.message}`)
  }
}

function blockReadingsOf(bundles: Bundles): readonly Reading[] {
  let later: readonly BlockRange[] = []
  const readings = readingsOf(bundles).flatMap(({ input, bundle }) =>
    'to' in input ? [{ input, bundle }] : [],
  )
  return readings.map(({ input, bundle }) => {
    const earlier = readings
      .map((one) => one.input)
      .filter((one) => one.at === input.at && one.to.number < input.from.number)
    const reading = { input, bundle, earlier: earlier.toReversed(), later }
    later = joined([...later, rangeOf(input)])
    return reading
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
  const timeOf = (line: string | undefined) => payoutOfLine(line ?? '').payout.atMs
  const wrong = lines.findIndex((line, at) => Math.abs(timeOf(line) - timeOf(again[at])) > hourMs)
  const times = `${what}: published ${lines[wrong]}, recomputed ${again[wrong]}`
  if (wrong !== -1) report.check('times', false, times)
}
