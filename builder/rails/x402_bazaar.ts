import { z } from 'zod'

import { microFromBaseUnits, microPerUsdc } from '../../src/core/money.ts'
import { defineRail } from './adapter.ts'
import { countReasons, countText, noVolume, tally } from './answers.ts'
import { bazaarHost, readResources } from './bazaar.ts'
import { rareField } from './missing-field.ts'
import testnetIds from './testnets.json' with { type: 'json' }

/** Maximum price accepted as real: prices of ten billion dollars have been listed. */
const ceilingUsdc = 10_000

/** x402 v2 names networks by CAIP-2, v1 by a word; one answer contains both. */
const testnets: ReadonlySet<string> = new Set([
  ...testnetIds.evm.map((id) => `eip155:${id}`),
  ...testnetIds.solana.map((genesis) => `solana:${genesis}`),
])
const testnetWords = /sepolia|devnet|testnet|fuji|amoy|goerli|holesky|hoodi|local/i

const usdc: ReadonlySet<string> = new Set([
  '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
])

const acceptShape = z.object({
  network: z.string().min(1),
  payTo: z.string().min(1),
  asset: z.string().nullish(),
  amount: rareField(z.union([z.string(), z.number()])),
  maxAmountRequired: rareField(z.union([z.string(), z.number()])),
})

const resourceShape = z.object({
  resource: z.string().min(1),
  accepts: z.array(acceptShape),
  quality: rareField(z.object({ l30DaysTotalCalls: z.number().min(0).nullish() })),
})

type Accept = z.output<typeof acceptShape>
/** Resources of one host with the same sellers and kinds of prices. */
interface Group {
  readonly host: string | null
  readonly kinds: readonly EntryKind[]
  /** The sellers of the prices that count. */
  readonly sellers: readonly string[]
  count: number
  /** Calls reported by the operator, and the number of resources with a report. */
  calls: number
  reported: number
}

/** The CDP Bazaar lists payable services. Payments for these services count for the x402 rails. */
export const x402Bazaar = defineRail({
  rail: 'x402_bazaar',
  rule: {
    name: 'mainnet-listings',
    version: '2',
    text: `Counted are resources with at least one accepted payment on a main network; test networks (by chain id), missing amounts and USDC prices above ${ceilingUsdc.toLocaleString('en-US')} USD are left out and counted. Activity is the number of resources, workers are distinct payTo addresses, and the top share is that of the address named by most resources.`,
  },
  hosts: [bazaarHost],
  read: async (ctx) => {
    const { items, ...list } = await readResources(ctx, resourceShape)
    const groups = groupsOf(items.flatMap(({ entry }) => entry ?? []))
    return { ...list, entries: items.length, groups }
  },
  reduce: ({ entries, groups, moved, evidence }) => {
    const items = groups.flatMap((group) => Array.from({ length: group.count }, () => group))
    const unreadable = entries - items.length
    const listed = items.filter(({ sellers }) => sellers.length > 0)
    const sellers = tally(listed.flatMap((one) => one.sellers))
    const hosts = new Set(listed.flatMap(({ host }) => host ?? []))
    const sumOf = (sum: 'calls' | 'reported') =>
      groups.reduce((total, group) => total + (group.sellers.length > 0 ? group[sum] : 0), 0)
    const [calls, reported] = [sumOf('calls'), sumOf('reported')]
    return {
      figures: {
        ...noVolume,
        uniqueWorkers30d: sellers.size,
        topWorkerShare: listed.length === 0 ? 0 : Math.max(...sellers.values()) / listed.length,
        activity30d: listed.length,
      },
      removed30d: countReasons(
        items.flatMap(({ kinds }) => kinds.filter((kind) => kind !== 'priced')),
      ),
      notes: [
        `${countText(entries)} resources are listed, ${countText(listed.length)} of them with a price on a main network, on ${countText(hosts.size)} hosts, paid to ${countText(sellers.size)} addresses.`,
        'The volume is 0 by definition: payments are counted under the x402 rails.',
        reported > 0 &&
          `The operator reports ${countText(calls)} calls in 30 days over ${countText(reported)} of these entries; we cannot check that.`,
        unreadable > 0 && `${countText(unreadable)} entries cannot be read and are excluded.`,
        moved,
      ],
      evidence,
    }
  },
})

type EntryKind = 'priced' | 'testnet' | 'no_amount' | 'above_ceiling'

function classify({ network, asset, amount, maxAmountRequired }: Accept): EntryKind {
  if (testnets.has(network) || testnetWords.test(network)) return 'testnet'
  const text = String(amount ?? maxAmountRequired ?? '')
  if (!/^\d{1,78}$/.test(text)) return 'no_amount'
  if (!usdc.has(walletKey(asset ?? ''))) return 'priced'
  const micro = microFromBaseUnits(BigInt(text), 6)
  return micro === null || micro > ceilingUsdc * microPerUsdc ? 'above_ceiling' : 'priced'
}

/** EVM addresses ignore case; base58 does not. */
function walletKey(address: string): string {
  return /^0x[0-9a-f]{40}$/i.test(address) ? address.toLowerCase() : address
}

function groupsOf(resources: readonly z.output<typeof resourceShape>[]): readonly Group[] {
  const groups = new Map<string, Group>()
  for (const { resource, accepts, quality } of resources) {
    const host = URL.canParse(resource) ? new URL(resource).host : null
    const kinds = accepts.map(classify)
    const priced = accepts.filter((_, at) => kinds[at] === 'priced')
    const sellers = [...new Set(priced.map(({ payTo }) => walletKey(payTo)))]
    const key = JSON.stringify([host, kinds, sellers])
    const group = groups.get(key) ?? { host, kinds, sellers, count: 0, calls: 0, reported: 0 }
    const calls = quality?.l30DaysTotalCalls ?? null
    group.count += 1
    group.calls += calls ?? 0
    group.reported += calls === null ? 0 : 1
    groups.set(key, group)
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}
