import pg from 'pg'
import { expect, test } from 'vitest'

import { DatabaseRefusedError } from '../../../src/db/errors.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts PostgreSQL')

test('a role that may not create tables is refused with what it needs', async () => {
  const server = await startPostgres()
  const url = new URL(await newPostgresDatabase(server.url))
  const admin = new pg.Client({ connectionString: url.href })
  await admin.connect()
  await admin.query('create role reader login')
  await admin.end()
  url.username = 'reader'
  const opening = openDatabase({ url: url.href })
  await expect(opening).rejects.toThrow(DatabaseRefusedError)
  await expect(opening).rejects.toThrow(
    'permission denied for schema public: the role of DATABASE_URL must own the tables',
  )
  await server.stop()
})
