import { defineConfig } from 'vitest/config'

/** Three replicas of the service and two builders on one PostgreSQL, killed at random while clients write. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    maxWorkers: 1,
    retry: 0,
    // Each round has its own limits; `CLUSTER_MINUTES` decides how many there are.
    testTimeout: 3_600_000,
    hookTimeout: 180_000,
  },
})
