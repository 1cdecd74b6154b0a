import { defineConfig } from 'vitest/config'

/** Hours of mixed load on the compiled program, an hour unless `SOAK_SECONDS` says otherwise. */
const soakMs = Number(process.env['SOAK_SECONDS'] ?? 3600) * 1000

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/soak/**/*.test.ts'],
    globalSetup: 'test/support/compiled-program.ts',
    env: { TZ: 'UTC' },
    // Each has the machine to itself.
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
