import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // Needs Chromium: `npm run test:site`.
    exclude: ['test/site/**'],
    env: { TZ: 'UTC' },
    isolate: false,
    restoreMocks: true,
    retry: 0,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
