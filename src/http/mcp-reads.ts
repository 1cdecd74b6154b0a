/** Public reads of the registry as MCP reads them: from the published set, or from the handler of the route. */
import { ApiError } from '../contract/errors.ts'
import type { McpReadId } from '../contract/mcp.ts'
import { pathOf, routeOf } from '../contract/routes.ts'
import type { Clock } from '../core/deps.ts'
import type { ReadList } from '../db/lists.ts'
import type { Handlers, ReadAnswer, ReadContext } from './handler-types.ts'
import type { PublishedDocuments } from './published-documents.ts'

type Given = Readonly<Record<string, unknown>>

export type ReadPublic = (id: McpReadId, given: Given, list: ReadList) => Promise<object | string>

type PublicHandler = (
  input: { readonly params: object; readonly query: object },
  context: Pick<ReadContext, 'nowMs' | 'list'>,
) => Promise<ReadAnswer>

export function publicReads(
  handlers: Handlers,
  published: PublishedDocuments,
  clock: Pick<Clock, 'now'>,
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
  const names = Object.keys(parameters).filter((name) => given[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, String(given[name])]))
}

/** Cuts the lists of a document; `omitted` counts the missing entries of each. */
function shortened(document: object, limit: number): object {
  const cut: Record<string, unknown> = { ...document }
  const omitted: Record<string, number> = {}
  for (const [name, value] of Object.entries(cut)) {
    if (!Array.isArray(value) || value.length <= limit) continue
    cut[name] = value.slice(0, limit)
    omitted[name] = value.length - limit
  }
  return Object.keys(omitted).length === 0 ? document : { ...cut, omitted }
}
