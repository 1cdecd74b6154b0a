/** Loads the packages that every service of this kind needs: Hono, zod, Kysely, and sqlite3 with an open file. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Kysely, SqliteAdapter, SqliteDialect } from 'kysely'
import sqlite3 from 'sqlite3'
import { z } from 'zod'

const env = z.object({ PORT: z.coerce.number(), DATABASE: z.string() }).parse(process.env)
const database = new sqlite3.Database(env.DATABASE, sqlite3.OPEN_READONLY)
const dialect = new SqliteDialect({ database: () => Promise.reject(new Error('unused')) })
const compiler = new Kysely({ dialect }).getExecutor().adapter
const app = new Hono()
app.get('/healthz', async (c) => {
  await new Promise((resolve) => database.get('select 1', resolve))
  return c.json({ status: compiler instanceof SqliteAdapter ? 'ok' : 'error' })
})
serve({ fetch: app.fetch, port: env.PORT, hostname: '127.0.0.1' })
