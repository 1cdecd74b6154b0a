/** Derives what look-ups have found from the lines of their readings. */
import type { Measurement } from '../../../builder/rails/adapter.ts'
import { joined } from '../../../builder/rails/hours-of-lines.ts'
import { chooseWallets, listedHubs } from '../../../builder/rails/look-up-choice.ts'
import { lookBackMs } from '../../../builder/rails/look-up-state.ts'
import {
  firstPayments,
  lookUpTimeOf,
  transferDaysOf,
  walletFactsOf,
} from '../../../builder/rails/looked-up.ts'
import { payoutOfLine } from '../../../builder/rails/payout-lines.ts'
import { aggregatePayouts } from '../../../builder/rails/payouts.ts'
import type { Payout } from '../../../builder/rails/payouts.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { chains } from '../../../src/chain/chains.ts'
import type { EvmChainName } from '../../../src/chain/chains.ts'
import { linesOfValue } from '../../../src/core/evidence.ts'
import { groupBy } from '../../../src/core/group-by.ts'
import { microFromBaseUnits } from '../../../src/core/money.ts'
import { counted } from '../../../src/core/number-text.ts'
import type { PaymentFacts } from '../../../src/core/rules/facts.ts'
import { hourMs, isoTime, secondMs } from '../../../src/core/time.ts'
import type { PublishedLookUp } from './evidence.ts'
import type { Recomputation } from './report.ts'

/** Look-ups read chunks of five hours, without the newest half hour. Blocks may be slower than on average. */
const maxLagMs = 7 * hourMs

/** Returns the facts that follow, or the published ones if their evidence is not complete. */
export function compareLookUps(
  {
    adapter,
    lookUps: { list, tests, readings, unread },
    report,
  }: Pick<Recomputation, 'adapter' | 'lookUps' | 'report'>,
  { facts, evidence }: Measurement,
): Partial<PaymentFacts> {
  const chain = adapter.lookUps
  if (chain === undefined || facts === undefined) return {}
  if (list === undefined) report.check('look-ups', false, 'the poll has no list of them')
  else if (list.lookedUp === null) report.note('look-ups', 'funders were not looked up')
  if (list === undefined || list.lookedUp === null) return {}
  const { lookedUp } = list
  const chosen = chooseWallets(facts, [], () => null)
  const left = (side: 'payees' | 'payers'): string | null => {
    const of = chosen[side].filter((one) => !lookedUp[side].has(one) && !listedHubs.has(one))
    const text = `${of.length} of the largest ${side} wait or were left out, such as ${of[0]}`
    return of.length === 0 ? null : text
  }
  const [payers, payees] = [left('payers'), left('payees')]
  // The rules count the funders of other payers as unknown.
  if (payers !== null) report.note('look-ups', payers)
  if (payees !== null) report.open('look-ups', payees)
  const readTo = ({ head, to, at }: PublishedLookUp) =>
    lookUpTimeOf(chain, { block: head, atMs: Date.parse(at) }, to)
  const lastMs = Math.max(...readings.map(readTo))
  if (readings.length > 0 && facts.endMs - lastMs > maxLagMs)
    report.open('look-ups', `the transfers after ${isoTime(lastMs)} were not read`)
  const unpublished = readings.filter(({ lines }) => lines === null).length
  if (unread + unpublished > 0) {
    const reason = `of ${counted(unread, 'poll')} and ${counted(unpublished, 'reading')}, the lines are not published`
    report.open('look-ups', `taken as published: ${reason}`)
    return list
  }
  const { payouts, problem } = payoutsOf(chain, readings)
  const bad = problem ?? coverageProblem(chain, readings, lookedUp, facts)
  const read = `${payouts.length} transfers of ${readings.length} readings`
  report.check('look-ups', bad === null, read, bad ?? '')
  const transfers = transferDaysOf(aggregatePayouts([], payouts), facts)
  const wallets = walletFactsOf(transfers, tests, evidence)
  report.compare('looked-up transfers', list.transfers.map(textOf), transfers.map(textOf))
  report.compare('looked-up wallets', linesOfValue(list.wallets), linesOfValue(wallets))
  return { transfers, wallets, lookedUp }
}

const textOf = ({ day, from, to, count, microUsdc }: PaymentFacts['transfers'][number]) =>
  `day ${day}: ${from} ${to}: ${count} transfers of ${microUsdc} micro-USDC`

function payoutsOf(chain: EvmChainName, readings: readonly PublishedLookUp[]) {
  const found = new Map<string, Payout>()
  let problem: string | null = null
  for (const { lines, rows, rows_digest, ...reading } of readings) {
    if (sha256Hex((lines ?? []).join('\n')) !== rows_digest || reading.chain !== chain)
      problem ??= `${rows} differs from rows_digest`
    for (const line of lines ?? []) {
      const { payout } = payoutOfLine(line)
      const log = `${payout.block} ${payout.logIndex}`
      if (found.has(log)) problem ??= `${line}: two readings contain it`
      if (!follows(payout, reading, chain)) problem ??= `${line}: does not follow from its reading`
      else found.set(log, payout)
    }
  }
  return { payouts: [...found.values()], problem }
}

function follows(
  { block, payer, payee, units = 0n, atMs, microUsdc }: Payout,
  { from, to, head, at, wallets }: Omit<PublishedLookUp, 'lines' | 'rows' | 'rows_digest'>,
  chain: EvmChainName,
): boolean {
  return (
    block >= from &&
    block <= to &&
    (wallets.into.includes(payee) || wallets.outOf.includes(payer ?? '')) &&
    atMs === lookUpTimeOf(chain, { block: head, atMs: Date.parse(at) }, block) &&
    microUsdc === microFromBaseUnits(units, chains[chain].usdc.decimals)
  )
}

/** Blocks may be slower or faster than on average. */
const tolerance = 0.9

/** Names a wallet that counts as looked up without readings of all its transfers, or a payer that has them and does not count. */
function coverageProblem(
  chain: EvmChainName,
  readings: readonly PublishedLookUp[],
  lookedUp: NonNullable<PaymentFacts['lookedUp']>,
  facts: PaymentFacts,
): string | null {
  const firstMsOf = firstPayments(facts)
  const lastRead = Math.max(...readings.map(({ to }) => to))
  const head = Math.max(...readings.map((one) => one.head))
  for (const [side, wallets, beforeMs] of [
    ['into', lookedUp.payers, lookBackMs],
    ['outOf', lookedUp.payees, 0],
  ] as const) {
    const all = readings.flatMap((one) => one.wallets[side].map((wallet) => ({ wallet, ...one })))
    const ofWallet = groupBy(all, ({ wallet }) => wallet)
    const isRead = (wallet: string, share: number): boolean => {
      const ms = facts.endMs - firstMsOf(wallet) + beforeMs
      const blocks = ms / (chains[chain].blockSeconds * secondMs)
      const [range] = joined(ofWallet.get(wallet) ?? [])
      // The payments of a new payee may be later than the blocks that were read.
      if (range === undefined) return head - blocks > lastRead
      return range.to >= lastRead && range.from <= Math.max(0, head - share * blocks)
    }
    const missing = [...wallets].find((wallet) => !isRead(wallet, tolerance))
    if (missing !== undefined) return `the transfers of ${missing} were not all read`
    const isNewest = ({ at, to }: PublishedLookUp) =>
      side === 'into' && to === lastRead && Date.parse(at) === facts.endMs
    const left = all.find(
      (one) => isNewest(one) && !wallets.has(one.wallet) && isRead(one.wallet, 1),
    )
    if (left !== undefined)
      return `the transfers of ${left.wallet} were read, but it does not count`
  }
  return null
}
