/** Reads some look-ups of a poll again from a node, and tests wallets again. */
import { readTransferChunks, transferFilters } from '../../../builder/chain/usdc-transfers.ts'
import { manyWallets, testWallets } from '../../../builder/chain/wallet-test.ts'
import { transfersKeptMs } from '../../../builder/rails/looked-up.ts'
import type { ChainReader } from '../../../src/chain/reader.ts'
import { groupBy } from '../../../src/core/group-by.ts'
import type { WalletFacts } from '../../../src/core/rules/facts.ts'
import { hubStrangers } from '../../../src/core/rules/hubs.ts'
import { hourMs, isoTime } from '../../../src/core/time.ts'
import type { PublishedLookUp } from './evidence.ts'
import type { Recomputation } from './report.ts'

type Choose = <One>(all: readonly One[]) => readonly One[]

export async function readLookUpsAgain(
  { bundles, lookUps: { readings, tests, unread }, report }: Recomputation,
  reader: ChainReader,
  choose: Choose,
): Promise<void> {
  if (readings.length === 0) return
  const first = await reader.blockAtTime(Date.parse(bundles[0].at) - transfersKeptMs)
  /** Of several readings with the same transfer, the first one has its line. */
  const all = new Set(readings.flatMap(({ lines }) => (lines ?? []).map(logOf)))
  const isComplete = unread === 0 && readings.every(({ lines }) => lines !== null)
  if (!isComplete)
    report.open('look-ups', 'left out transfers are not searched: some lines are not published')
  const chosen = choose(readings.filter(({ lines }) => lines !== null))
  report.note('look-ups', `${chosen.length} of ${readings.length} readings are read again`)
  for (const reading of chosen) {
    const lines = new Set(reading.lines?.map(logOf))
    const isMissed = (log: string) =>
      isComplete && !all.has(log) && Number.parseInt(log, 10) >= first
    const found = await logsOf(reader, reading)
    report.compare(
      `look-ups of the blocks ${reading.from} to ${reading.to}`,
      [...lines].toSorted(),
      found.filter((log) => lines.has(log) || isMissed(log)).toSorted(),
    )
    const headMs = await reader.blockTime(reading.head)
    if (Math.abs(headMs - Date.parse(reading.at)) > 2 * hourMs)
      report.check(
        'times',
        false,
        `block ${reading.head} has the time ${isoTime(headMs)}, but the reading states ${reading.at}`,
      )
  }
  const tested = groupBy(choose(Object.entries(tests)), ([, { block }]) => block)
  for (const [block, some] of tested) {
    const names = some.map(([wallet]) => wallet)
    const again = block === null ? null : await testWallets(reader, names, block)
    for (const [wallet, test] of some) {
      const [what, found] = [`test of ${wallet}`, again?.get(wallet)]
      if (found === undefined) report.open(what, 'an older version made it')
      else if (found.contract && !test.contract) report.open(what, 'it is a contract now')
      else if (isRefused(found) || isRefused(test)) report.open(what, 'a node refused a sample')
      else report.compare(what, [textOf(test)], [textOf(found)])
    }
  }
}

/** Block, index, transaction, sender, recipient and base units. */
const logOf = (line: string): string => line.split(',').slice(0, 6).join(',')

async function logsOf(
  reader: ChainReader,
  { wallets, from: fromBlock, to: toBlock }: PublishedLookUp,
): Promise<readonly string[]> {
  const logs: string[] = []
  const filters = transferFilters(reader.name, wallets)
  const { signal } = new AbortController()
  await readTransferChunks({
    reader,
    filters,
    fromBlock,
    toBlock,
    signal,
    onChunk: async (transfers) => {
      for (const { block, logIndex, txHash, from, to, units, microUsdc } of transfers)
        if (microUsdc !== 0) logs.push([block, logIndex, txHash, from, to, units].join(','))
    },
  })
  return logs
}

type TestedWallet = Omit<WalletFacts, 'listedHub'>

const isRefused = ({ recipients, senders = 0 }: TestedWallet): boolean =>
  recipients === manyWallets || senders === manyWallets

function textOf({ contract, ageDays, recipients, senders }: TestedWallet): string {
  const upTo = (count: number | null | undefined) => Math.min(count ?? 0, hubStrangers)
  const kind = contract === true ? 'contract' : 'wallet'
  return `${kind} of ${ageDays} days, ${upTo(recipients)} recipients, ${upTo(senders)} senders`
}
