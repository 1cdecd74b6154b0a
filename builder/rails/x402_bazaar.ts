import { z } from 'zod'

import { microFromBaseUnits, microPerUsdc } from '../../src/core/money.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import { defineRail } from './adapter.ts'
import { countExcept, countText, noVolume, parseAnswer, tally } from './answers.ts'
import { bazaarHost, bazaarPage } from './bazaar.ts'
import { readPages } from './paged-list.ts'
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
  amount: z.union([z.string(), z.number()]).nullish(),
  maxAmountRequired: z.union([z.string(), z.number()]).nullish(),
})

const resourceShape = z.object({
  resource: z.string().min(1),
  accepts: z.array(acceptShape),
  quality: z.object({ l30DaysTotalCalls: z.number().min(0).nullish() }).nullish(),
})

const pageShape = z.object({
  items: z.array(z.unknown()),
  pagination: z.object({ total: z.int().min(0) }),
})

type Accept = z.output<typeof acceptShape>
type Resource = z.output<typeof resourceShape>
/** Sellers write the entries: null stands for one that cannot be read, which is counted and does not fail the poll. */
interface Entry {
  readonly key: string
  readonly resource: Resource | null
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
  read: (ctx) =>
    readPages<Entry>(ctx, {
      url: bazaarPage,
      parse: (answer, { offset }) => {
        const { items, pagination } = parseAnswer(pageShape, answer)
        const entries = items.map((item, at) => {
          const { data: resource = null } = parseEarly(resourceShape, item)
          return { key: resource?.resource ?? `row ${offset + at}`, resource }
        })
        return { items: entries, total: pagination.total }
      },
      keyOf: ({ key }) => key,
    }),
  reduce: ({ items: entries, moved, evidence }) => {
    const items = entries.flatMap(({ resource }) => resource ?? [])
    const unreadable = entries.length - items.length
    const kinds = items.flatMap(({ accepts }) => accepts.map(classify))
    const listed = items
      .map((item) => ({
        ...item,
        accepts: item.accepts.filter((one) => classify(one) === 'priced'),
      }))
      .filter(({ accepts }) => accepts.length > 0)
    const sellers = tally(
      listed.flatMap(({ accepts }) => [...new Set(accepts.map(({ payTo }) => walletKey(payTo)))]),
    )
    const calls = listed.flatMap(({ quality }) => quality?.l30DaysTotalCalls ?? [])
    return {
      figures: {
        ...noVolume,
        uniqueWorkers30d: sellers.size,
        topWorkerShare: listed.length === 0 ? 0 : Math.max(...sellers.values()) / listed.length,
        activity30d: listed.length,
      },
      removed30d: countExcept('priced', kinds),
      notes: [
        `${countText(entries.length)} resources are listed, ${countText(listed.length)} of them with a price on a main network, on ${countText(new Set(listed.flatMap(hostsOf)).size)} hosts, paid to ${countText(sellers.size)} addresses.`,
        'The volume is 0 by definition: payments are counted under the x402 rails.',
        calls.length > 0 &&
          `The operator reports ${countText(calls.reduce((sum, one) => sum + one, 0))} calls in 30 days over ${countText(calls.length)} of these entries; we cannot check that.`,
        unreadable > 0 && `${countText(unreadable)} entries cannot be read and are left out.`,
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

function hostsOf({ resource }: Resource): string[] {
  return URL.canParse(resource) ? [new URL(resource).host] : []
}
