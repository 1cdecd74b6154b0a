/** `POST /mcp`: a message in, a message out. There are no sessions and nothing to stream, so there is no GET. */
import type { Hono } from 'hono'

import { mcpPath } from '../contract/route.ts'
import { answerText, queryOf } from './answer.ts'
import type { HonoEnv } from './context.ts'
import type { Mcp } from './mcp.ts'
import { readJsonBody } from './read-body.ts'

/** Headers that the protocol gives a meaning to; nothing else of a request is handed on. */
const meaningful = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const

export function installMcp(hono: Hono<HonoEnv>, mcp: Mcp): void {
  hono.post(mcpPath, async (c) => {
    queryOf(c, [])
    const { json } = await readJsonBody(c.env.incoming)
    const headers = new Headers({ 'Content-Type': 'application/json' })
    for (const name of meaningful) {
      const value = c.req.header(name)
      if (value !== undefined) headers.set(name, value)
    }
    const request = new Request(`http://localhost${mcpPath}`, { method: 'POST', headers })
    const answer = await mcp(request, json)
    return answerText(c, await answer.text(), {
      status: answer.status,
      cache: 'no-store',
      contentType: answer.headers.get('content-type') ?? 'application/json',
    })
  })
}
