/** `POST /mcp`: a message in, a message out. There are no sessions and nothing to stream, so there is no GET. */
import type { Hono } from 'hono'

import { ApiError } from '../contract/errors.ts'
import { mcpPath } from '../contract/route.ts'
import type { ConcurrencyLimit } from '../limits/concurrency-limits.ts'
import { answerText, queryOf } from './answer.ts'
import type { HonoEnv } from './context.ts'
import type { Mcp } from './mcp.ts'
import { readJsonBody } from './read-body.ts'

/** Headers that the protocol gives a meaning to; nothing else of a request is handed on. */
const meaningful = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

export function installMcp(
  hono: Hono<HonoEnv>,
  mcp: Mcp,
  { siteUrl, limit }: { readonly siteUrl: string; readonly limit: ConcurrencyLimit },
): void {
  const ownOrigin = new URL(siteUrl).origin
  hono.post(mcpPath, async (c) => {
    queryOf(c, [])
    if (!isTrusted(c.req.header('origin'), ownOrigin)) {
      throw new ApiError('forbidden', 'Origin: not https, this site or this machine')
    }
    const { json } = await readJsonBody(c.env.incoming)
    const headers = new Headers({ 'Content-Type': 'application/json' })
    for (const name of meaningful) {
      const value = c.req.header(name)
      if (value !== undefined) headers.set(name, value)
    }
    const request = new Request(`http://localhost${mcpPath}`, { method: 'POST', headers })
    const answer = await limit.run(
      () => mcp(request, json),
      () => c.env.incoming.socket.destroyed,
    )
    return answerText(c, await answer.text(), {
      status: answer.status,
      cache: 'no-store',
      contentType: answer.headers.get('content-type') ?? 'application/json',
    })
  })
}

const secureOrigin = /^https:\/\/[^/?#@]+$/
const loopbackOrigin = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/

/**
 * Whether a browser may call from there (MCP transports, security warning). The tools are public and know no session,
 * so scripts of every site over https may; a name that was bent to this machine (DNS rebinding) comes over http.
 */
function isTrusted(origin: string | undefined, own: string): boolean {
  if (origin === undefined || origin === own) return true
  return secureOrigin.test(origin) || loopbackOrigin.test(origin)
}
