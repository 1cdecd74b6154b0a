/** MPP on Tempo: one-time charges with a memo of the protocol, and sums settled from payment channels. */
import { keccak256, parseAbi, stringToHex, toEventSelector } from 'viem'
import type { Address } from 'viem'

import { addressTopic } from '../../src/core/abi.ts'
import { selectors } from '../chain/logs.ts'
import type { DecodedLog, LogChunk } from '../chain/logs.ts'
import { defineLogRail, reduceStream } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'
import type { Payout } from './payouts.ts'

// Addresses, memo and events: wevm/mppx src/tempo (internal/defaults.ts, Attribution.ts, escrow.abi.ts).
/** USDC.e and pathUSD, dollars of 6 decimals. Anyone can create other tokens. */
const tokens: readonly Address[] = [
  '0x20c000000000000000000000b9537d11c60e8b50',
  '0x20c0000000000000000000000000000000000000',
]
/** The precompile of TIP-1034 and the contract before it; lower case. */
const escrows: readonly Address[] = [
  '0x4d50500000000000000000000000000000000000',
  '0x33b901018174ddabe4841042ab76ba85d4e24f25',
]
/** Pays a charge for a client that holds machineUSD, whose address is then not in the log. */
const swap = '0xd588ed9ae08643a450157adaf61c3c0c1bbd0dbb'
/** Tag and version at the start of a memo. */
export const memoPrefix = `${keccak256(stringToHex('mpp')).slice(0, 10)}01`

export const tip20Events = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo)',
])
const [transferEvent, memoEvent] = tip20Events
/** The precompile counts in uint96, the older contract in uint256. */
export const channelEvents = parseAbi([
  'event Settled(bytes32 indexed channelId, address indexed payer, address indexed payee, uint96 cumulativeAmount, uint96 deltaPaid, uint96 newSettled)',
  'event Settled(bytes32 indexed channelId, address indexed payer, address indexed payee, uint256 cumulativeAmount, uint256 deltaPaid, uint256 newSettled)',
  'event ChannelClosed(bytes32 indexed channelId, address indexed payer, address indexed payee, uint96 settledToPayee, uint96 refundedToPayer)',
  'event ChannelClosed(bytes32 indexed channelId, address indexed payer, address indexed payee, uint256 settledToPayee, uint256 refundedToPayer)',
])
const mppEvents = [...tip20Events, ...channelEvents] as const

function paymentOf(
  log: DecodedLog<typeof mppEvents>,
  payer: string | null,
  payee: string,
  units: bigint,
): Payout {
  const isSelf = payer?.toLowerCase() === payee.toLowerCase()
  const removedBy = isSelf ? 'self_payment' : null
  return payoutAt(log, payer, payee, { units, removedBy })
}

/** An escrow pays the payee, then refunds the payer, then emits its event, so an event names the transfers before it. */
function chunkPayouts({ logs }: LogChunk<typeof mppEvents>): ChunkPayouts<'payments'> {
  const payments: Payout[] = []
  let [pending, pendingTx]: [DecodedLog<typeof mppEvents>[], string] = [[], '']
  for (const log of logs) {
    const { event, address, txHash } = log
    if (event.eventName === 'TransferWithMemo') {
      const { from, to, amount, memo } = event.args
      const payer = from.toLowerCase() === swap ? null : from
      if (memo.startsWith(memoPrefix)) payments.push(paymentOf(log, payer, to, amount))
      continue
    }
    if (txHash !== pendingTx) [pending, pendingTx] = [[], txHash]
    if (event.eventName === 'Transfer') {
      pending.push(log)
      continue
    }
    const { payer, payee } = event.args
    const paid = pending.find(
      ({ event: { eventName, args } }) =>
        eventName === 'Transfer' && args.from.toLowerCase() === address && args.to === payee,
    )
    pending = []
    if (paid?.event.eventName !== 'Transfer') continue
    payments.push(paymentOf(paid, payer, payee, paid.event.args.amount))
  }
  return { payouts: payments.map((payment) => ['payments', payment]) }
}

export const mpp = defineLogRail({
  rail: 'mpp',
  rule: {
    name: 'mpp-memos-and-channels',
    version: '1',
    text:
      'Volume is every TransferWithMemo of USDC.e or pathUSD on Tempo whose memo starts with the tag and version of the Machine Payments Protocol, and every transfer of ' +
      'these tokens from an MPP payment channel to the payee that its Settled or ChannelClosed event names; one token is one USD. Deposits, refunds, other tokens and ' +
      'charges without such a memo are not counted. Removed: payer and payee are one wallet (self_payment). Charges paid in machineUSD name no payer. Windows are whole hours.',
  },
  lookUps: 'tempo',
  chain: 'tempo',
  streams: { payments: { decimals: 6 } },
  abi: mppEvents,
  filters: [
    { addresses: tokens, topics: [[toEventSelector(memoEvent)]] },
    {
      addresses: tokens,
      topics: [[toEventSelector(transferEvent)], escrows.map((escrow) => addressTopic(escrow))],
    },
    { addresses: escrows, topics: [selectors(channelEvents)] },
  ],
  toPayouts: chunkPayouts,
  reduce: (aggregated, window) =>
    reduceStream(aggregated, 'payments', window, {
      notes: ['Look-ups of funders read only USDC.e: who sent pathUSD to a payer is unknown.'],
    }),
})
