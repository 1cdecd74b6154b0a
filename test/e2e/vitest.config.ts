import { defineConfig } from 'vitest/config'

/** The program as compiled processes: slow to start, and some of it killed many times. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    maxWorkers: '100%',
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    // Files that need more say so with a reason; see `allowSlowTests`.
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
})
