/** The x402 Bazaar: the public list of paid resources, page by page. https://docs.cdp.coinbase.com/x402/bazaar */
import { z } from 'zod'

import { parseEarly } from '../../src/core/parse-early.ts'
import type { AdapterContext } from './adapter.ts'
import { countField, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'

export const bazaarHost = 'https://api.cdp.coinbase.com'
const pageSize = 1000

const page = z
  .object({ items: z.array(z.unknown()), pagination: z.object({ total: countField }) })
  .transform(({ items, pagination: { total } }) => ({ items, total }))

/** Entries come from sellers; null stands for an unreadable one. @throws SourceError if the list is incomplete */
export async function readResources<Shape extends z.ZodType<{ readonly resource: string }>>(
  ctx: AdapterContext,
  shape: Shape,
) {
  return await readPages(ctx, {
    url: ({ offset }) =>
      `${bazaarHost}/platform/v2/x402/discovery/resources?limit=${pageSize}&offset=${offset}`,
    parse: (answer, { offset }) => {
      const { items, total } = parseAnswer(page, answer)
      const entries = items.map((item, at) => {
        const { data: entry = null } = parseEarly(shape, item)
        return { key: entry?.resource ?? `row ${offset + at}`, entry }
      })
      // A seller may write anything, but not all of them the same.
      const readable = items.filter((_, at) => entries[at]?.entry !== null)
      const body = readable.length === 0 ? items : readable
      parseAnswer(z.array(shape), { ...answer, body })
      return { items: entries, total }
    },
    keyOf: ({ key }) => key,
  })
}

const terms = z.object({ network: z.string(), asset: z.string(), payTo: z.string() })
const resource = z.object({
  resource: z.string().refine((text) => URL.canParse(text)),
  /** Null for terms that cannot be read. */
  accepts: z.array(terms.nullable().catch(null)),
})

/** The network is as listed: `base` or `eip155:8453`, `solana` or `solana:…`. */
export interface BazaarOffer extends z.infer<typeof terms> {
  /** Lower case. */
  readonly host: string
}

export async function readBazaar(ctx: AdapterContext) {
  const list = await readResources(ctx, resource)
  const offers: BazaarOffer[] = []
  let malformed = 0
  for (const { entry } of list.items) {
    const host = entry === null ? '' : new URL(entry.resource).host.toLowerCase()
    for (const one of entry?.accepts ?? [null]) {
      if (one === null) malformed += 1
      else offers.push({ host, ...one })
    }
  }
  const notes = list.moved === null ? [] : [list.moved]
  if (malformed > 0)
    notes.push(`${malformed} entries of the list could not be read and are excluded.`)
  return { offers, resources: list.items.length, notes, evidence: list.evidence }
}
