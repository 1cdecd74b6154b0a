import type { ActionDeps } from '../actions/deps.ts'
import { issuerOf } from '../auth/exchange-keys.ts'
import { verifyReceipt } from '../auth/verify-receipt.ts'
import { ApiError } from '../contract/errors.ts'
import { mcpRailRow, mcpReadFacts, mcpReads, mcpTools } from '../contract/mcp.ts'
import type { McpReadId } from '../contract/mcp.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { Rail } from '../contract/schemas/rail.ts'
import { allGood } from '../core/check.ts'
import { entriesOf, recordOf } from '../core/entries.ts'
import { knownFigure } from '../core/figures.ts'
import { flagCaveat } from '../core/flags/index.ts'
import { evidenceTenths, reputationFormula } from '../core/reputation/formula.ts'
import { reputationDecayDays } from '../core/reputation/standing.ts'
import type { ReadList } from '../db/lists.ts'
import { receiptDetailOf } from '../db/receipts/receipts.ts'
import type { Handlers, ReadAnswer, ReadContext } from './handler-types.ts'
import { hasValues } from './lists.ts'
import { tool } from './mcp.ts'
import type { Tool } from './mcp.ts'
import type { PublishedDocuments } from './published-documents.ts'

export function mcpToolsOf(
  deps: ActionDeps,
  published: PublishedDocuments,
  handlers: Handlers,
): readonly Tool[] {
  const siteUrl = deps.site.url
  const readPublic = publicReads(handlers, published, deps.clock)
  const railOf = (name: string): Rail => {
    const found = published.find('getRail', { name })
    if (found !== null) return found
    throw new ApiError('unknown_rail', published.suggestion('unknown_rail', 'getRail', { name }))
  }
  return [
    tool('list_rails', mcpTools.list_rails, ({ limit, ...wanted }) => {
      const found = published.read('listRails').rails.filter(hasValues(wanted))
      const rails = found.toSorted(byVolume).slice(0, limit).map(rowOf)
      return { total: found.length, count: rails.length, rails }
    }),
    tool('how_to_earn', mcpTools.how_to_earn, ({ name }) =>
      howToEarn(railOf(name), published, deps),
    ),
    tool('verify_receipt', mcpTools.verify_receipt, ({ id }) => verifyStored(deps, id)),
    tool('reputation_rules', mcpTools.reputation_rules, () => ({
      formula: reputationFormula,
      evidence_weights: Object.fromEntries(
        Object.entries(evidenceTenths).map(([kind, tenths]) => [kind, tenths / 10]),
      ),
      decay_days: reputationDecayDays,
      docs: `${siteUrl}/docs/reputation`,
    })),
    ...entriesOf(mcpReads).map(([name, id]) =>
      tool(name, mcpReadFacts(id), async (input, list) => {
        try {
          return await readPublic(id, input, list)
        } catch (error) {
          if (!(error instanceof ApiError) || error.details !== undefined) throw error
          const params = picked(input, routeOf(id).params)
          const near = published.suggestion(error.code, id, params)
          throw near === undefined ? error : new ApiError(error.code, near)
        }
      }),
    ),
  ]
}

async function verifyStored(deps: ActionDeps, id: string) {
  const found = await receiptDetailOf(deps.database.reader, id, deps.site.url)
  if (found === null) throw new ApiError('unknown_receipt')
  const keys = new Map<string, string | readonly string[]>(
    [...deps.reference().platforms.values()].map((entry) => [entry.platform, entry.public_key]),
  )
  const exchange = issuerOf(deps.keys.exchange())
  keys.set(exchange.platform, [
    exchange.public_key,
    ...(exchange.retired ?? []).map((key) => key.public_key),
  ])
  const { checks } = await verifyReceipt(found.content, keys, id)
  return { ...found, holds: allGood(checks), checks }
}

function byVolume(left: Rail, right: Rail): number {
  return (knownFigure(right, 'tpv_30d_usdc') ?? -1) - (knownFigure(left, 'tpv_30d_usdc') ?? -1)
}

function rowOf(entry: Rail) {
  return mcpRailRow.parse({ ...entry, ...recordOf(entry.unknown_figures, () => null) })
}

/** Of a rail that is not listed as paying. */
function statusOf({ judged, status, figures_as_of: asOf }: Rail): string {
  if (judged) return `is ${status}`
  return status === 'pre-traction' ? 'is not judged' : `was ${status} on ${asOf.slice(0, 10)}`
}

function howToEarn(entry: Rail, { read }: PublishedDocuments, deps: ActionDeps) {
  const { opportunities } = read('listOpportunities')
  const { flags } = read('listHonestyFlags')
  const { skills } = read('listSkills')
  const siteUrl = deps.site.url
  const opportunity = opportunities.find((candidate) => candidate.rail === entry.rail)
  const open = flags.filter((flag) => flag.rail === entry.rail).map(flagCaveat)
  const applies = deps.reference().rails.get(entry.rail)?.apply !== undefined
  return {
    ...rowOf(entry),
    pays_now: opportunity !== undefined,
    entry_requirements: entry.entry_requirements,
    apply_url: entry.sample_apply_url ?? entry.reference_url,
    applies_through_ledger: applies,
    expected_usd_per_day: opportunity?.expected_usd_per_day ?? null,
    skills_sold: skills
      .filter(({ surface }) => surface.includes(entry.rail))
      .map(({ slug }) => slug),
    caveats: [...new Set([...(opportunity?.caveats ?? []), ...open])],
    steps: [
      opportunity !== undefined
        ? 'First consider the caveats and the age of the figures.'
        : `The rail ${statusOf(entry)}: look for one that pays with list_opportunities.`,
      applies
        ? `Apply through the ledger: POST ${siteUrl}${routeOf('applyToRail').path}`
        : 'Apply at apply_url.',
      `Register the wallet that is to be paid: POST ${siteUrl}${routeOf('registerWorker').path}`,
      `Submit a signed receipt for each payment: POST ${siteUrl}${routeOf('submitReceipt').path}`,
    ],
    signing: `${siteUrl}/register-and-earn/SKILL.md`,
    docs: `${siteUrl}/rails/${entry.rail}`,
  }
}

type Given = Readonly<Record<string, unknown>>

type ReadPublic = (id: McpReadId, given: Given, list: ReadList) => Promise<object | string>

type PublicHandler = (
  input: { readonly params: object; readonly query: object },
  context: Pick<ReadContext, 'nowMs' | 'list'>,
) => Promise<ReadAnswer>

/** Reads the registry from the published set, or by the handler of the route. */
function publicReads(
  handlers: Handlers,
  published: PublishedDocuments,
  clock: ActionDeps['clock'],
): ReadPublic {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a public read needs no more of its context, and the tool parses its input
  const byId = handlers as unknown as Readonly<Record<string, PublicHandler | undefined>>
  return async (id, { limit, ...given }, list) => {
    const route = routeOf(id)
    const params = picked(given, route.params)
    const query = picked(given, route.query)
    const hasPages = route.query?.['cursor'] !== undefined
    const sent = hasPages ? { ...query, limit: String(limit) } : query
    // A list without pages does not state how many entries a limit omits.
    const shown = (answer: object | string) =>
      typeof answer === 'string' || limit === undefined || hasPages
        ? answer
        : shortened(answer, Number(limit))
    const handler = byId[id]
    const isLive = route.serving.kind === 'handler' || Object.keys(sent).length > 0
    if (handler !== undefined && isLive) {
      const answer = await handler({ params, query: sent }, { nowMs: clock.now(), list })
      if ('bytes' in answer) throw new Error(`${id} has no text`)
      return shown('body' in answer ? answer.body : answer.text)
    }
    published.manifest()
    const isJson = route.answers[200]?.contentType === undefined
    const found = isJson
      ? published.find(id, params)
      : (published.text(pathOf(id, params))?.text ?? null)
    if (found === null) throw new ApiError(route.answers[404]?.code ?? 'not_found')
    return shown(found)
  }
}

function picked(given: Given, parameters: object = {}): Record<string, string> {
  const names = Object.keys(parameters).filter((name) => (given[name] ?? false) !== false)
  return Object.fromEntries(names.map((name) => [name, String(given[name])]))
}

/** Cuts the lists of entries, also those of `delta_since`; `count` then counts the entries left, and `omitted` the missing ones of each list. */
function shortened(document: object, limit: number): object {
  const cut: Record<string, unknown> = { ...document }
  const omitted: Record<string, number> = {}
  for (const [name, value] of Object.entries(cut)) {
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value)) cut[name] = shortened(value, limit)
    else if (value.length > limit && typeof value[0] === 'object') {
      cut[name] = value.slice(0, limit)
      omitted[name] = value.length - limit
      if (cut['count'] === value.length) cut['count'] = limit
    }
  }
  return Object.keys(omitted).length === 0 ? cut : { ...cut, omitted }
}
