/** Three questions after the state of the service: is it there, is it ready, how is it. */
import { answerJson, queryOf } from './answer.ts'
import type { ApiContext } from './context.ts'

export interface HealthAnswer {
  readonly statusCode: 200 | 503
  readonly body: unknown
}

/** `GET /api/v1/health`: what the public may know, 503 where the database cannot be written. */
export function healthHandler(health: () => Promise<HealthAnswer>) {
  return async (c: ApiContext): Promise<Response> => {
    queryOf(c, [])
    const { statusCode, body } = await health()
    const headers: Record<string, string> = statusCode === 503 ? { 'Retry-After': '5' } : {}
    return answerJson(c, body, { status: statusCode, cache: 'no-store', headers })
  }
}

/** `GET /healthz`: the process answers. Nothing else is asked, so that a slow disk gets no restart. */
export function aliveHandler(c: ApiContext): Response {
  return answerJson(c, { status: 'ok' }, { cache: 'no-store' })
}

/** `GET /readyz`: 503 with the reasons while requests should go elsewhere. */
export function readyHandler(obstacles: () => Promise<readonly string[]>) {
  return async (c: ApiContext): Promise<Response> => {
    const waiting = await obstacles()
    if (waiting.length === 0) return answerJson(c, { status: 'ready' }, { cache: 'no-store' })
    return answerJson(
      c,
      { status: 'not ready', waiting_for: waiting },
      { status: 503, cache: 'no-store', headers: { 'Retry-After': '5' } },
    )
  }
}
