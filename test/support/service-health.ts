import { createHealth } from '../../src/runtime/health.ts'
import type { Service } from './http-service.ts'

/** The health of a service as the program reports it. */
export async function healthOf({ actions, store, clock }: Service) {
  return await createHealth({
    database: actions.database,
    canWrite: () => Promise.resolve(true),
    store,
    clock,
    startedMonotonicMs: 0,
    jobs: ['poll', 'build'],
    settlement: 'off',
    problems: () => [],
  })()
}
