import { defineConfig } from 'vitest/config'

/** One attacker beside everybody else, on a filled ledger. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/isolation/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    // Each test measures times on the whole machine.
    fileParallelism: false,
    retry: 0,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
})
