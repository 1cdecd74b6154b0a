import { defineConfig } from 'vitest/config'

/** Duration of the mixed load; one hour by default. */
const soakMs = Number(process.env['SOAK_SECONDS'] ?? 3600) * 1000

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/soak/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    // Each test needs the whole machine.
    fileParallelism: false,
    retry: 0,
    testTimeout: soakMs + 300_000,
    hookTimeout: 120_000,
    provide: { soakMs },
  },
})

declare module 'vitest' {
  interface ProvidedContext {
    soakMs: number
  }
}
