import { defineConfig } from 'vitest/config'

/** The whole ledger in one process, on a machine whose clock, chance, disk and order of events come from a seed. */
export default defineConfig({
  resolve: { alias: { sqlite3: new URL('sqlite-driver.ts', import.meta.url).pathname } },
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/simulation/**/*.test.ts'],
    env: { TZ: 'UTC' },
    maxWorkers: 2,
    retry: 0,
    testTimeout: 1_200_000,
    hookTimeout: 120_000,
  },
})
