import { defineConfig } from 'vitest/config'

/** Tests of the compiled program, whose processes start slowly and are killed many times. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    maxWorkers: '100%',
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    // See `allowSlowTests` for exceptions.
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
})
