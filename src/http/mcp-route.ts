/** `POST /mcp`. Without sessions or streams there is no GET. */
import type { ActionDeps } from '../actions/deps.ts'
import { ApiError } from '../contract/errors.ts'
import { mcpPath } from '../contract/route.ts'
import { answerText, queryOf } from './answer.ts'
import type { Endpoint } from './context.ts'
import type { Mcp } from './mcp.ts'
import { listWhileOpen } from './pages.ts'
import { readJsonBody } from './read-body.ts'

const forwardedHeaders = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

export function mcpEndpoint(
  mcp: Mcp,
  { site, database }: Pick<ActionDeps, 'site' | 'database'>,
): Endpoint {
  const ownOrigin = new URL(site.url).origin
  return {
    route: { method: 'POST', path: mcpPath, serving: { kind: 'handler', cache: 'no-store' } },
    concurrency: 'read',
    async prepare(c) {
      queryOf(c, [])
      if (!isTrusted(c.req.header('origin'), ownOrigin)) {
        throw new ApiError('forbidden', 'Origin: must be https, this site or this machine')
      }
      const { json } = await readJsonBody(c.env.incoming)
      const headers = new Headers({ 'Content-Type': 'application/json' })
      for (const name of forwardedHeaders) {
        const value = c.req.header(name)
        if (value !== undefined) headers.set(name, value)
      }
      const request = new Request(`http://localhost${mcpPath}`, { method: 'POST', headers })
      return async () => {
        const answer = await mcp(request, json, listWhileOpen(database, c.env))
        return answerText(c, await answer.text(), {
          status: answer.status,
          cache: 'no-store',
          contentType: answer.headers.get('content-type') ?? 'application/json',
        })
      }
    },
  }
}

const secureOrigin = /^https:\/\/[^/?#@]+$/
const loopbackOrigin = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/

/** Allows all https origins, since the tools are public; DNS rebinding uses http (MCP transports, security warning). */
function isTrusted(origin: string | undefined, own: string): boolean {
  if (origin === undefined || origin === own) return true
  return secureOrigin.test(origin) || loopbackOrigin.test(origin)
}
