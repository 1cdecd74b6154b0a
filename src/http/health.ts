import { healthPath } from '../contract/route.ts'
/** Health of the service, for the public, for operators and for load balancers. */
import { answerJson, queryOf } from './answer.ts'
import type { Endpoint } from './context.ts'

export interface HealthAnswer {
  readonly statusCode: 200 | 503
  readonly body: unknown
}

interface HealthDeps {
  readonly health: () => Promise<HealthAnswer>
  /** Why requests should go elsewhere now; empty where the service is ready. */
  readonly obstacles: () => Promise<readonly string[]>
}

/** None has a concurrency limit: each answers however busy the service is. */
export function healthEndpoints({ health, obstacles }: HealthDeps): readonly Endpoint[] {
  return [
    endpoint(healthPath, health),
    // Checks nothing: a slow disk must not get the process restarted.
    endpoint('/healthz', () => Promise.resolve({ statusCode: 200, body: { status: 'ok' } })),
    endpoint('/readyz', async () => {
      const waiting = await obstacles()
      return waiting.length === 0
        ? { statusCode: 200, body: { status: 'ready' } }
        : { statusCode: 503, body: { status: 'not ready', waiting_for: waiting } }
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
        return answerJson(c, body, { status: statusCode, cache: 'no-store', headers })
      }
    },
  }
}
