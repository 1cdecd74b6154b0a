import { z } from 'zod'

import { defineRail } from './adapter.ts'
import { countReasons, countField, countText, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'

const host = 'https://402index.io'
const pageSize = 200

const serviceShape = z.object({
  id: z.string().min(1),
  url: z.string(),
  protocol: z.string(),
  price_sats: z.number().nullish(),
  health_status: z.string().nullish(),
})

const pageShape = z
  .object({ services: z.array(serviceShape), total: countField })
  .transform(({ services: items, total }) => ({ items, total }))

/** L402: requests paid over Lightning. Payments are private; the directory 402 Index lists the offers. */
export const l402 = defineRail({
  rail: 'l402',
  rule: {
    name: 'listed-endpoints',
    version: '1',
    text: 'Counted are the endpoints that 402 Index lists for L402, and their hosts. They are listings and not sellers known to have been paid. Endpoints of another protocol, without an address, without a price above 0, or that the directory found down are left out and counted. Volume is unknown, because Lightning payments are not public.',
  },
  hosts: [host],
  read: (ctx) =>
    readPages(ctx, {
      url: ({ offset }) =>
        `${host}/api/v1/services?protocol=L402&limit=${pageSize}&offset=${offset}`,
      parse: (answer) => parseAnswer(pageShape, answer),
      keyOf: ({ id }) => id,
    }),
  reduce: ({ items, moved, evidence }) => {
    const reasons = items.map((row) => {
      if (row.protocol !== 'L402') return 'other_protocol'
      if (row.health_status === 'down') return 'down'
      if (!URL.canParse(row.url)) return 'no_address'
      return (row.price_sats ?? 0) > 0 ? null : 'no_price'
    })
    const offers = items.filter((_, at) => reasons[at] === null)
    const hosts = new Set(offers.map(({ url }) => new URL(url).host))
    return {
      figures: {},
      removed30d: countReasons(reasons),
      notes: [
        `${countText(offers.length)} endpoints of ${countText(hosts.size)} hosts request payment over Lightning.`,
        'Volume, payers, sellers who were paid and the last payment are unknown: Lightning payments are not public.',
        moved,
      ],
      evidence,
    }
  },
})
