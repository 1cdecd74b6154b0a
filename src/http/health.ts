import { healthPath } from '../contract/route.ts'
import { answerText, queryOf } from './answer.ts'
import type { Endpoint } from './context.ts'

export interface HealthAnswer {
  readonly statusCode: 200 | 503
  readonly body: unknown
}

interface HealthDeps {
  readonly health: () => Promise<HealthAnswer>
  readonly obstacles: () => Promise<readonly string[]>
}

/** Without concurrency limits, so they also respond under load. */
export function healthEndpoints({ health, obstacles }: HealthDeps): readonly Endpoint[] {
  return [
    endpoint(healthPath, health),
    // No checks: a slow disk must not cause a restart.
    endpoint('/healthz', () => Promise.resolve({ statusCode: 200, body: { status: 'ok' } })),
    endpoint('/readyz', async () => {
      const reasons = await obstacles()
      return reasons.length === 0
        ? { statusCode: 200, body: { status: 'ready' } }
        : { statusCode: 503, body: { status: 'not ready', waiting_for: reasons } }
    }),
  ]
}

function endpoint(path: string, check: () => Promise<HealthAnswer>): Endpoint {
  return {
    route: { method: 'GET', path, serving: { kind: 'handler', cache: 'no-store' } },
    concurrency: null,
    prepare: (c) => {
      if (path === healthPath) queryOf(c, [])
      return async () => {
        const { statusCode, body } = await check()
        const headers: Record<string, string> = statusCode === 503 ? { 'Retry-After': '5' } : {}
        const options = { status: statusCode, cache: 'no-store', headers } as const
        return answerText(c, JSON.stringify(body), { ...options, contentType: 'application/json' })
      }
    },
  }
}
