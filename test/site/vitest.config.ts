import { defineConfig } from 'vitest/config'

/** The site in a real browser: needs Debian's Chromium at /usr/bin/chromium, or another one in `CHROMIUM`. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    globalSetup: 'test/site/bundle.ts',
    include: ['test/site/**/*.test.ts'],
    env: { TZ: 'UTC' },
    isolate: false,
    maxWorkers: '100%',
    expect: { poll: { timeout: 60_000 } },
    retry: 0,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
