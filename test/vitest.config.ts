/** The suites, selected by `vitest run -c test/vitest.config.ts --mode <suite>`; without a mode, the quick suite. */
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'

import { defineConfig } from 'vitest/config'
import type { ViteUserConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

type Suite = NonNullable<ViteUserConfig['test']>

const smallButSlow = /\/test\/(?:scenarios\/|e2e\/defaults)/

/** Largest files first, as by default, but small slow ones before them: as the last file they would keep one core busy. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => smallButSlow.test(moduleId)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

const minuteMs = 60_000
const gigabyte = 2 ** 30
const soakMs = Number(process.env['SOAK_SECONDS'] ?? 3600) * 1000

/** The options of all suites. There are no retries; `allowSlowTests` gives a file more time, with a reason. */
const common: Suite = {
  root: new URL('..', import.meta.url).pathname,
  env: { TZ: 'UTC' },
  reporters: ['default', 'test/support/count-reporter.ts'],
  // Left to itself, Vitest keeps a core free: one worker on a machine of two.
  maxWorkers: '100%',
  // Workers collect their garbage seldom, and without helper threads, which wait for cores that other workers use.
  execArgv: ['--max-semi-space-size=64', '--single-threaded-gc'],
  sequence: { sequencer: SlowestFirst },
  retry: 0,
  testTimeout: minuteMs / 2,
  hookTimeout: 5 * minuteMs,
}
const bundled: Suite = {
  globalSetup: 'test/support/compiled-program.ts',
  expect: { poll: { timeout: minuteMs } },
}

/** Suites that have a folder of their name. */
const folders: Readonly<Record<string, Suite>> = {
  // Published clients and generators, which npx fetches from the npm registry.
  clients: { testTimeout: 10 * minuteMs },
  // Three services and two builders on one PostgreSQL, killed at random while clients write.
  cluster: { ...bundled, maxWorkers: 1, testTimeout: 60 * minuteMs },
  // The configurations of scripts/deploy in nginx, Caddy and other programs of Debian's packages.
  deploy: { isolate: false },
  // Whole processes, which start slowly and are killed many times.
  e2e: bundled,
  // Disks, clocks and other processes that fail, and hostile requests. Much of it waits for disks, locks and slow clients.
  faults: { ...bundled, maxWorkers: availableParallelism() + 1, execArgv: [] },
  // One attacker and other clients; each test measures times on the whole machine.
  isolation: { ...bundled, fileParallelism: false, testTimeout: 5 * minuteMs },
  // The ledger in one process, on a machine whose clock, chance, disk and order of events come from a seed.
  simulation: { testTimeout: 20 * minuteMs },
  // The site in Chromium.
  site: {
    globalSetup: 'test/site/bundle.ts',
    isolate: false,
    expect: { poll: { timeout: minuteMs } },
    testTimeout: 5 * minuteMs,
  },
  // A long mixed load, on the whole machine.
  soak: {
    ...bundled,
    fileParallelism: false,
    testTimeout: soakMs + 5 * minuteMs,
    provide: { soakMs },
  },
}
/** Files that need PostgreSQL whatever `TEST_ENGINE` is. */
const needPostgres = [
  'test/db/postgres/*.test.ts',
  'test/limits/shared-limits.test.ts',
  'test/runtime/replica-health.test.ts',
]
/** A file system in memory, where the thousands of flushes of the quick suite cost nothing. */
function memoryFolder(): { TMPDIR?: string } {
  const TMPDIR = '/dev/shm'
  if (!existsSync(TMPDIR) || !existsSync('/proc/mounts')) return {}
  const { bavail, bsize } = statfsSync(TMPDIR)
  // Some tests run scripts that they write.
  const runsScripts = !/^\S+ \/dev\/shm .*noexec/m.test(readFileSync('/proc/mounts', 'utf8'))
  return runsScripts && bavail * bsize > 2 * gigabyte ? { TMPDIR } : {}
}

const quick: Suite = {
  // Some of it waits for time-outs and child processes.
  maxWorkers: availableParallelism() + 1,
  include: ['test/**/*.test.ts'],
  exclude: [...Object.keys(folders).map((folder) => `test/${folder}/**`), ...needPostgres],
  globalSetup: 'test/support/engine-setup.ts',
  env: { TZ: 'UTC', ...memoryFolder() },
  isolate: false,
  restoreMocks: true,
  expect: { poll: { timeout: minuteMs / 2 } },
}
const suites: Readonly<Record<string, Suite>> = {
  test: quick,
  // With TEST_ENGINE=postgres: PostgreSQL itself, and requests that read and write every table.
  postgres: {
    ...quick,
    env: { TZ: 'UTC' },
    exclude: [],
    include: [
      ...needPostgres,
      'test/db/{leases,writer}.test.ts',
      'test/db/{jobs,payments}/*.test.ts',
      'test/http/{alerts-subscriptions,apply,disputes,lists,partners,receipt-groups,receipts,workers,writes}.test.ts',
      'test/e2e/export.test.ts',
      'test/http/routes/*.test.ts',
      'test/payments/{purchase,services,subscriptions}.test.ts',
    ],
  },
  ...Object.fromEntries(
    Object.entries(folders).map(([folder, suite]) => [
      folder,
      { include: [`test/${folder}/**/*.test.ts`], ...suite },
    ]),
  ),
}

export default defineConfig(({ mode }) => {
  const suite = suites[mode]
  if (suite === undefined) throw new Error(`no suite is called ${mode}`)
  const sqlite3 = new URL('simulation/sqlite-driver.ts', import.meta.url).pathname
  return {
    test: { ...common, ...suite },
    ...(mode === 'simulation' ? { resolve: { alias: { sqlite3 } } } : {}),
  }
})

declare module 'vitest' {
  interface ProvidedContext {
    soakMs: number
  }
}
