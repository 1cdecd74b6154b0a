import { availableParallelism } from 'node:os'

import { defineConfig } from 'vitest/config'

/** Faults of disks, clocks and other processes, and hostile requests. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/faults/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    // One more than cores: much of it waits for disks, locks and slow clients.
    maxWorkers: availableParallelism() + 1,
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    // Files that need more say so with a reason; see `allowSlowTests`.
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
})
