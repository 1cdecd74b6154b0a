/** With TEST_ENGINE=postgres, starts one server for the whole run, unless TEST_POSTGRES_URL names another. */
import type { TestProject } from 'vitest/node'

import { startPostgres } from './postgres.ts'

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  if (process.env['TEST_ENGINE'] !== 'postgres') return () => Promise.resolve()
  const server = process.env['TEST_POSTGRES_URL'] === undefined ? await startPostgres() : null
  if (server !== null) process.env['TEST_POSTGRES_URL'] = server.url
  return async () => {
    listSkipped(project)
    await server?.stop()
  }
}

/** No test is left out silently. */
function listSkipped({ vitest }: TestProject): void {
  const lines = vitest.state.getTestModules().flatMap((module) =>
    [...module.children.allTests('skipped')].map((test) => {
      const result = test.result()
      const reason = result.state === 'skipped' ? result.note : undefined
      return `${module.relativeModuleId}: ${test.fullName} (${reason ?? 'on SQLite, too'})\n`
    }),
  )
  process.stdout.write(`${lines.length} tests are left out:\n${lines.join('')}`)
}
