import { z } from 'zod'

import { SourceError } from '../../src/outbound/http.ts'
import { defineRail } from './adapter.ts'
import { countField, countText, largestShare, noVolume, parseAnswer } from './answers.ts'
import { readPages } from './paged-list.ts'
import { growthSince } from './past-polls.ts'

const host = 'https://registry.smithery.ai'
const pageSize = 100

const serverShape = z.object({
  qualifiedName: z.string().min(1),
  namespace: z.string().nullish(),
  useCount: countField.nullish(),
})

const pageShape = z.object({
  servers: z.array(serverShape),
  pagination: z.object({ totalPages: countField, totalCount: countField }),
})

/** The Smithery directory of MCP servers. The directory pays nobody; uses of servers count as activity. */
export const smithery = defineRail({
  rail: 'smithery',
  rule: {
    name: 'listed-servers',
    version: '1',
    text: 'Counted is every server that the registry shows once. Workers are distinct namespaces, activity is the growth of the summed useCount since our poll of 30 days before, and the top share is by useCount. There are no payments.',
  },
  hosts: [host],
  read: async (ctx) => {
    let [totalPages, stated] = [0, 0]
    const list = await readPages(ctx, {
      url: ({ index }) => `${host}/servers?page=${index + 1}&pageSize=${pageSize}`,
      parse: (answer, { index }) => {
        const { servers, pagination } = parseAnswer(pageShape, answer)
        ;({ totalPages, totalCount: stated } = pagination)
        const last = index + 1 >= totalPages
        if (!last && servers.length === 0) {
          throw new SourceError(`page ${index + 1} of ${totalPages} of the servers is empty`)
        }
        return { items: servers, last }
      },
      keyOf: ({ qualifiedName }) => qualifiedName,
    })
    // The registry pages through its first entries only, but states the count of all.
    const reachable = Math.min(stated, totalPages * pageSize)
    if (list.items.length + list.repeated < reachable) {
      throw new SourceError(`received ${list.items.length} of ${reachable} servers`)
    }
    const uses = totalUses(list.items)
    const usesGrown = growthSince(ctx.past, 'uses', uses, ctx.window.start30dMs)
    return { ...list, stated, usesGrown }
  },
  reduce: ({ items, stated, usesGrown, evidence }) => {
    const byOwner = new Map<string, number>()
    for (const server of items) {
      const owner = server.namespace ?? server.qualifiedName.split('/')[0] ?? server.qualifiedName
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + (server.useCount ?? 0))
    }
    return {
      figures: {
        ...noVolume,
        uniqueWorkers30d: byOwner.size,
        topWorkerShare: largestShare(byOwner.values()),
        activity30d: items.length === 0 ? 0 : usesGrown,
      },
      notes: [
        `${countText(items.length)} servers of ${countText(byOwner.size)} owners, ${countText(totalUses(items))} uses in total.`,
        'The volume is 0 by definition: nobody is paid through the directory.',
        items.length < stated &&
          `The figures are lower bounds: the registry states ${countText(stated)} servers and pages through ${countText(items.length)}.`,
        usesGrown === null &&
          'Activity is unknown until our own poll of 30 days before can be compared.',
      ],
      evidence,
    }
  },
  counters: ({ items }) => ({ uses: totalUses(items), servers: items.length }),
})

function totalUses(servers: readonly z.output<typeof serverShape>[]): number {
  return servers.reduce((sum, { useCount }) => sum + (useCount ?? 0), 0)
}
