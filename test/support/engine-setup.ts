/** With TEST_ENGINE=postgres, starts one server for the whole run, unless TEST_POSTGRES_URL names another. */
import { startPostgres } from './postgres.ts'

export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env['TEST_ENGINE'] !== 'postgres') return () => Promise.resolve()
  const server = process.env['TEST_POSTGRES_URL'] === undefined ? await startPostgres() : null
  if (server !== null) process.env['TEST_POSTGRES_URL'] = server.url
  return async () => {
    await server?.stop()
  }
}
