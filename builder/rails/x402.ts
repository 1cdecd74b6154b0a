/** x402 on EVM chains: USDC received by the wallets that the Bazaar lists as sellers. */
import { parseAbi } from 'viem'
import type { Address } from 'viem'
import { z } from 'zod'

import { chains } from '../../src/chain/chains.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { address } from '../../src/chain/values.ts'
import { transferTopic } from '../../src/core/abi.ts'
import { SourceError } from '../../src/outbound/http.ts'
import { readChunk, selectors, walletFilters } from '../chain/logs.ts'
import type { LogChunk, LogFilter } from '../chain/logs.ts'
import { authorizationEvents, authorizationTopic, transferEvents } from '../chain/usdc-transfers.ts'
import { defineRail } from './adapter.ts'
import type { AnyRailAdapter } from './adapter.ts'
import { aggregateLogs, reduceStream } from './aggregated-logs.ts'
import { bazaarHost, readBazaar } from './bazaar.ts'
import type { BazaarOffer } from './bazaar.ts'
import { payoutAt } from './payouts.ts'
import type { Payout } from './payouts.ts'
import { firstKeptHour } from './window.ts'
import { batchContracts, channelFilters, channelsOf, paymentEvents } from './x402-channels.ts'
import type { Channels, PaymentLog } from './x402-channels.ts'
import facilitatorList from './x402-facilitators.json' with { type: 'json' }

export const usdcEvents = [...transferEvents, ...authorizationEvents] as const
/** Contracts that settle payments with Permit2 for the schemes `exact` and `upto`, with one address on all chains: @x402/evm, coinbase/x402 contracts/evm. */
export const permit2Proxies: readonly Address[] = [
  '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
]
export const proxyEvents = parseAbi(['event Settled()', 'event SettledWithPermit()'])
const settlementEvents = [...usdcEvents, ...proxyEvents] as const
const permit2Filter: LogFilter = { addresses: permit2Proxies, topics: [selectors(proxyEvents)] }

interface X402Chain {
  readonly rail: string
  readonly chain: 'base' | 'polygon' | 'arbitrum'
  readonly name: string
}

/** Maximum amount of a payment: no listed call costs more, but treasury transfers are larger. */
const ceilingMicroUsdc = 100_000_000n
/** Their addresses on Polygon are among those on Base. */
const facilitators = new Set(facilitatorList.facilitators.flatMap(({ base = [] }) => base))

/** The host of each wallet. */
type Sellers = ReadonlyMap<string, string>

/** The hosts that earlier polls found. */
const sellersCursor = z.object({
  lastPayoutAtMs: z.number().nullable(),
  hosts: z.record(z.string(), z.string()),
})

/** How many offers of each host name a wallet. */
type OfferCounts = ReadonlyMap<string, ReadonlyMap<string, number>>

function countOffers(chain: X402Chain['chain'], offers: readonly BazaarOffer[]): OfferCounts {
  const { chainId, usdc } = chains[chain]
  const networks: readonly string[] = [chain, `eip155:${chainId}`]
  const counts = new Map<string, Map<string, number>>()
  for (const { host, network, asset, payTo } of offers) {
    const onRail = networks.includes(network) && asset.toLowerCase() === usdc.address
    // `isAddress` of viem would keep the last 8,192 texts, of any length.
    if (!onRail || !address.safeParse(payTo).success) continue
    const hosts = counts.get(payTo.toLowerCase()) ?? new Map<string, number>()
    hosts.set(host, (hosts.get(host) ?? 0) + 1)
    counts.set(payTo.toLowerCase(), hosts)
  }
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Anyone can list the wallet of a stranger, so a wallet keeps its host as long as that host lists it. A new wallet
 * belongs to the host that lists it in the most offers, the first by name on a tie.
 */
function sellersOf(offers: OfferCounts, known: Readonly<Record<string, string>>): Sellers {
  return new Map(
    [...offers].map(([wallet, hosts]) => {
      const kept = known[wallet]
      if (kept !== undefined && hosts.has(kept)) return [wallet, kept]
      const [first] = [...hosts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
      return [wallet, first?.[0] ?? wallet]
    }),
  )
}

function removedBy(from: string, to: string, value: bigint, sellers: Sellers): string | null {
  // Checked first for every transfer: a stranger who sends himself a large sum must not fill the volume of one operator.
  if (value > ceilingMicroUsdc) return 'above_ceiling'
  if (from === to) return 'self_payment'
  if (facilitators.has(from) && facilitators.has(to)) return 'between_facilitators'
  if (sellers.has(from) && sellers.get(from) === sellers.get(to)) return 'same_operator'
  return null
}

/** Null unless the log pays a seller or claims from an unknown channel. */
function payoutOf(log: PaymentLog, sellers: Sellers, channels: Channels): Payout | null {
  const payoutTo = (payer: string, payee: string, units: bigint): Payout => {
    const removed = removedBy(payer, payee, units, sellers)
    return payoutAt(log, payer, payee, { units, removedBy: removed })
  }
  const { eventName, args } = log.event
  if (eventName === 'Claimed') {
    const channel = channels.get(args.channelId.toLowerCase())
    if (channel === undefined)
      return payoutAt(log, null, log.address, { units: 0n, removedBy: 'unknown_channel' })
    const { payer, receiver } = channel
    if (!sellers.has(receiver)) return null
    const payout = payoutTo(payer, receiver, args.claimAmount)
    if (payer !== '') return payout
    return { ...payout, payer: null, removedBy: payout.removedBy ?? 'no_authorization' }
  }
  if (eventName !== 'Transfer') return null
  // Deposits, refunds and settlements: the claims count instead.
  if (batchContracts.includes(args.from) || batchContracts.includes(args.to)) return null
  return payoutTo(args.from.toLowerCase(), args.to.toLowerCase(), args.value)
}

/**
 * A transfer counts if its transaction used an EIP-3009 authorization of the payer, which covers one transfer, or if
 * the next log is the event of a Permit2 proxy. A claim counts by itself, since the escrow checked the voucher.
 */
async function settledPayouts(
  chunk: LogChunk<typeof paymentEvents>,
  reader: ChainReader,
  sellers: Sellers,
  channels: Channels,
): Promise<readonly Payout[]> {
  const settled = new Set<string>()
  const payers = new Set<string>()
  const payouts = chunk.logs.flatMap((log) => {
    const payout = payoutOf(log, sellers, channels)
    if (payout === null) return []
    if (log.event.eventName === 'Claimed') settled.add(`${log.txHash}:${log.logIndex}`)
    else if (payout.removedBy === null && payout.payer !== null) payers.add(payout.payer)
    return [payout]
  })
  if (payers.size === 0) return payouts
  const usdc = chains[reader.name].usdc.address
  const filters = [...walletFilters(usdc, authorizationTopic, [...payers], 'first'), permit2Filter]
  const read = { reader, abi: settlementEvents, filters }
  const answer = await readChunk(read, chunk.fromBlock, chunk.toBlock)
  const unused = new Map<string, number>()
  for (const { event, txHash, logIndex } of answer.logs) {
    if (event.eventName === 'Transfer') continue
    if (event.eventName !== 'AuthorizationUsed') {
      settled.add(`${txHash}:${logIndex - 1}`)
      continue
    }
    const key = `${txHash}:${event.args.authorizer.toLowerCase()}`
    unused.set(key, (unused.get(key) ?? 0) + 1)
  }
  return payouts.map((payout) => {
    const { txHash, logIndex, payer } = payout
    if (payout.removedBy !== null || settled.has(`${txHash}:${logIndex}`)) return payout
    const key = `${txHash}:${payer}`
    const left = unused.get(key) ?? 0
    unused.set(key, left - 1)
    return left > 0 ? payout : { ...payout, removedBy: 'no_authorization' }
  })
}

function x402On({ rail, chain, name }: X402Chain): AnyRailAdapter {
  return defineRail({
    rail,
    rule: {
      name: 'bazaar-eip3009-permit2-batch',
      version: '4',
      text:
        `Raw volume is every USDC transfer on ${name} to a wallet that the x402 Bazaar lists as payTo for ${name} USDC, and every claim of such a wallet from a ` +
        'USDC channel of x402 batch settlement, which the payer of the channel pays. Deposits, refunds and settlements of channels are not counted, since claims are. ' +
        'Removed, in this order: more than 100 USDC, which no call costs and treasury moves do (above_ceiling); payer and payee are one wallet (self_payment); both are ' +
        'facilitators in the list of x402scan (between_facilitators); the payer is a seller of the same operator (same_operator); neither an EIP-3009 authorization of ' +
        'the payer in the same transaction, nor a settlement by a Permit2 proxy of x402, nor a channel that was opened with a deposit of its payer by Permit2 or the EIP-3009 ' +
        'collector of x402 (no_authorization). A claim counts as one payment: no log shows for how many calls it is, so claims above 100 USDC are removed although their calls may cost less. ' +
        'A claim from a channel that was opened before the first block that was read, or before 20,000 later ones, names neither payee nor token; all such claims of the ' +
        'chain are counted as removed, without an amount (unknown_channel). Wallets of one host count as one worker. A wallet of several hosts belongs to the host that ' +
        'listed it first, and among the hosts of the first poll to the one that lists it most. Payments to a wallet count from half an hour before the last poll that did ' +
        'not find it listed. ' +
        'Windows are whole hours.',
    },
    hosts: [bazaarHost],
    chains: [chain],
    lookUps: chain,
    read: async (ctx) => {
      const readOffers = async () => {
        const { offers, ...listing } = await readBazaar(ctx)
        return { ...listing, counts: countOffers(chain, offers) }
      }
      const { counts, ...listing } = await ctx.evidence.list('offers', readOffers, 'answers')
      const sellers = await ctx.evidence.list('sellers', async () => {
        const known = await ctx.payouts.open('sellers', firstKeptHour(ctx.window), sellersCursor)
        const found = sellersOf(counts, known.cursor()?.hosts ?? {})
        if (found.size === 0) throw new SourceError(`the Bazaar lists no seller on ${name}`)
        await known.save({ hosts: Object.fromEntries(found) })
        return found
      })
      const bazaar = { ...listing, sellers }
      await ctx.evidence.list('facilitators', () => facilitators)
      const usdc = chains[chain].usdc.address
      const aggregated = await aggregateLogs(ctx, {
        chain,
        streams: { payments: { decimals: 6 } },
        abi: paymentEvents,
        filters: [
          ...walletFilters(usdc, transferTopic, [...sellers.keys()].sort(), 'second'),
          ...channelFilters(usdc),
        ],
        toPayouts: async (chunk, reader, memory) => {
          const { channels, remember } = channelsOf(memory, chunk.logs, usdc)
          const payments = await settledPayouts(chunk, reader, sellers, channels)
          return { payouts: payments.map((payment) => ['payments', payment]), remember }
        },
      })
      return { bazaar, aggregated }
    },
    reduce: ({ bazaar, aggregated }, window) => {
      const { sellers } = bazaar
      const notes = [
        `${sellers.size} seller wallets on ${name} in ${bazaar.resources} listed resources.`,
        ...bazaar.notes,
      ]
      const evidence = [...bazaar.evidence, ...aggregated.evidence]
      const groupOf = (payee: string) => sellers.get(payee) ?? payee
      return reduceStream({ ...aggregated, evidence }, 'payments', window, { groupOf, notes })
    },
  })
}

export const x402 = x402On({ rail: 'x402', chain: 'base', name: 'Base' })

export const x402Polygon = x402On({ rail: 'x402_polygon', chain: 'polygon', name: 'Polygon' })

export const x402Arbitrum = x402On({
  rail: 'x402_arbitrum',
  chain: 'arbitrum',
  name: 'Arbitrum',
})
