import { defineConfig } from 'vitest/config'

/** Published clients and generators, which npx fetches from the npm registry. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/clients/**/*.test.ts'],
    env: { TZ: 'UTC' },
    retry: 0,
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
})
