import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Largest files first, as by default, but a small slow one before them: as the last file it would keep one core busy. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => moduleId.includes('/test/scenarios/')
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // Suites with a command of their own: whole processes that are killed and restarted, and a real browser.
    exclude: [
      'test/cluster/**',
      'test/e2e/**',
      'test/faults/**',
      'test/isolation/**',
      'test/simulation/**',
      'test/site/**',
      'test/soak/**',
    ],
    env: { TZ: 'UTC' },
    globalSetup: 'test/support/engine-setup.ts',
    isolate: false,
    // Left to itself, Vitest keeps a core free: one worker on a machine of two.
    maxWorkers: '100%',
    restoreMocks: true,
    expect: { poll: { timeout: 30_000 } },
    retry: 0,
    sequence: { sequencer: SlowestFirst },
    // Files that need more say so with a reason; see `allowSlowTests`.
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
})
