/** The x402 Bazaar: the public list of paid resources, page by page. https://docs.cdp.coinbase.com/x402/bazaar */
import { z } from 'zod'

import { parseEarly } from '../../src/core/parse-early.ts'
import type { EvidencePointer, AdapterContext } from './adapter.ts'
import { countField, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'

export const bazaarHost = 'https://api.cdp.coinbase.com'
const pageSize = 1000

export function bazaarPage({ offset }: { readonly offset: number }): string {
  return `${bazaarHost}/platform/v2/x402/discovery/resources?limit=${pageSize}&offset=${offset}`
}

const page = z.object({
  items: z.array(z.unknown()),
  pagination: z.object({ total: countField }),
})
const resource = z.object({
  resource: z.string().refine((text) => URL.canParse(text)),
  accepts: z.array(z.unknown()),
})
const terms = z.object({ network: z.string(), asset: z.string(), payTo: z.string() })

export interface BazaarOffer {
  /** Lower case. */
  readonly host: string
  /** Network as listed: `base` or `eip155:8453`, `solana` or `solana:…`. */
  readonly network: string
  readonly asset: string
  readonly payTo: string
}

export interface BazaarListing {
  readonly offers: readonly BazaarOffer[]
  readonly resources: number
  readonly notes: readonly string[]
  readonly evidence: readonly EvidencePointer[]
}

interface Row {
  readonly key: string
  readonly offers: readonly BazaarOffer[]
  /** Number of unreadable entries, which are excluded. */
  readonly malformed: number
}

/** @throws SourceError if the list is incomplete or malformed */
export async function readBazaar(ctx: AdapterContext): Promise<BazaarListing> {
  const list = await readPages<Row>(ctx, {
    url: bazaarPage,
    parse: (answer, { offset }) => {
      const { items, pagination } = parseAnswer(page, answer)
      return { items: items.map((entry, at) => rowOf(entry, offset + at)), total: pagination.total }
    },
    keyOf: ({ key }) => key,
  })
  const malformed = list.items.reduce((sum, row) => sum + row.malformed, 0)
  const notes = list.moved === null ? [] : [list.moved]
  if (malformed > 0)
    notes.push(`${malformed} entries of the list could not be read and are excluded.`)
  return {
    offers: list.items.flatMap(({ offers }) => offers),
    resources: list.items.length,
    notes,
    evidence: list.evidence,
  }
}

function rowOf(entry: unknown, row: number): Row {
  const parsed = parseEarly(resource, entry)
  if (!parsed.success) return { key: `row ${row}`, offers: [], malformed: 1 }
  const host = new URL(parsed.data.resource).host.toLowerCase()
  const accepted = parsed.data.accepts.map((one) => terms.safeParse(one))
  const offers = accepted.flatMap(({ data }) => (data === undefined ? [] : { host, ...data }))
  return { key: parsed.data.resource, offers, malformed: accepted.length - offers.length }
}
