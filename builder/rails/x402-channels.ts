/** Payment channels of the x402 scheme `batch-settlement`. A claim names only its channel, and a settlement no payer. */
import { parseAbi } from 'viem'
import type { Address } from 'viem'

import { transferTopic } from '../../src/core/abi.ts'
import { selectors, walletFilters } from '../chain/logs.ts'
import type { DecodedLog, LogFilter } from '../chain/logs.ts'
import { transferEvents } from '../chain/usdc-transfers.ts'

/** Escrow, and the contract that hands it deposits by EIP-3009; one address on all chains: x402-foundation/x402 contracts/evm. */
export const batchEscrow: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003'
export const batchCollector: Address = '0x4020806089470a89826cB9fB1f4059150b550004'
export const batchContracts: readonly Address[] = [batchEscrow, batchCollector]
export const channelEvents = parseAbi([
  'struct ChannelConfig { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
  'event ChannelCreated(bytes32 indexed channelId, ChannelConfig config)',
  'event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed)',
])
export const paymentEvents = [...transferEvents, ...channelEvents] as const
export type PaymentLog = DecodedLog<typeof paymentEvents>

/** `payer` is empty if the first deposit did not come from it, and `receiver` if the channel has another token. */
interface Channel {
  readonly payer: string
  readonly receiver: string
}
export type Channels = ReadonlyMap<string, Channel>

/** Channels, claims and the deposits that prove the payers. */
export function channelFilters(usdc: Address): readonly LogFilter[] {
  return [
    { addresses: [batchEscrow], topics: [selectors(channelEvents)] },
    ...walletFilters(usdc, transferTopic, batchContracts, 'second'),
  ]
}

/** The channels by id; `remember` is for later chunks. */
export function channelsOf(
  memory: ReadonlyMap<string, number>,
  logs: readonly PaymentLog[],
  usdc: Address,
): { readonly channels: Channels; readonly remember: ReadonlyMap<string, number> } {
  const transfers = new Map(
    logs.flatMap(({ event, txHash, logIndex }) =>
      event.eventName === 'Transfer' ? [[`${txHash}:${logIndex}`, event.args]] : [],
    ),
  )
  const remember = new Map<string, number>()
  for (const { event, block, txHash, logIndex } of logs) {
    if (event.eventName !== 'ChannelCreated') continue
    const { channelId, config } = event.args
    // Anyone can open a channel in the name of a stranger with a collector of his own, so the deposit must prove the payer.
    const before = (steps: number) => transfers.get(`${txHash}:${logIndex - steps}`)
    const last = before(1)
    const deposit = last?.from === batchCollector ? before(2) : last
    const isPaid = last?.to === batchEscrow && deposit?.from === config.payer
    const parties = [config.receiver, ...(isPaid ? [config.payer] : [])]
    const key = [channelId, ...(config.token.toLowerCase() === usdc.toLowerCase() ? parties : [])]
    remember.set(key.join(' ').toLowerCase(), block)
  }
  const channels = new Map<string, Channel>()
  for (const key of [...memory.keys(), ...remember.keys()]) {
    const [id = '', receiver = '', payer = ''] = key.split(' ')
    // A channel that was emptied is created again with its next deposit.
    if (payer !== '' || !channels.has(id)) channels.set(id, { receiver, payer })
  }
  return { channels, remember }
}
