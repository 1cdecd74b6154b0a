import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'
import { test } from 'vitest'
import type { TestContext } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'

export const onPostgres = process.env['TEST_ENGINE'] === 'postgres'

/** A test of SQLite itself or of its files, which a run on PostgreSQL leaves out and lists with the reason. */
export function sqliteOnly(reason: string, name: string, run: () => void | Promise<void>): void {
  test(name, onPostgres ? ({ skip }: TestContext) => skip(reason) : run)
}

let emptyFile: Promise<Buffer> | null = null
let template: Promise<string> | null = null

/** Writes a SQLite database without rows: a copy, since creating all tables takes longer than most tests. */
export async function writeEmptyDatabase(path: string): Promise<void> {
  emptyFile ??= createEmptyFile()
  writeFileSync(path, await emptyFile)
}

/** Returns the URL of a new database without rows, in `folder`, or with TEST_ENGINE=postgres on the server of the run. */
export async function newDatabaseIn(folder: string): Promise<string> {
  if (onPostgres) return await newPostgresDatabase()
  const path = join(folder, 'ledger.db')
  await writeEmptyDatabase(path)
  return path
}

const placed = new Map<string, Promise<string>>()

/** The URL of the database that the tests keep at a path, beyond the service that made it. */
export async function databaseAt(path: string): Promise<string> {
  if (!onPostgres) return `sqlite:${path}`
  const url = placed.get(path) ?? newPostgresDatabase()
  placed.set(path, url)
  return await url
}

/** @param server the address of a server; default: that of the run */
export async function newPostgresDatabase(server?: string): Promise<string> {
  const { TEST_POSTGRES_URL = '' } = process.env
  if (server !== undefined) return await createDatabase(server, 'template0')
  template ??= createDatabase(TEST_POSTGRES_URL, 'template0').then(async (url) => {
    await (await openDatabase({ url })).close()
    return parts(url)[1]
  })
  return await createDatabase(TEST_POSTGRES_URL, await template)
}

async function createDatabase(server: string, from: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await ask(server, `create database ${name} template ${from}`)
  return `${server}/${name}`
}

/** Replaces the content of a database by that of another one; nothing may use either. */
export async function copyPostgresDatabase(from: string, to: string): Promise<void> {
  const [[server, source], [, target]] = [parts(from), parts(to)]
  await ask(server, `drop database if exists ${target}`)
  await ask(server, `create database ${target} template ${source}`)
}

let drops = Promise.resolve()

/** Tests do not wait for it, since each drop waits for a checkpoint. Does nothing to a file. */
export function dropDatabase(url: string): void {
  if (!url.startsWith('postgres:')) return
  const [server, name] = parts(url)
  const drop = () => ask(server, `drop database if exists ${name} with (force)`)
  drops = drops.then(drop).catch(() => undefined)
}

function parts(url: string): readonly [server: string, name: string] {
  const at = url.lastIndexOf('/')
  return [url.slice(0, at), url.slice(at + 1)]
}

async function ask(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

async function createEmptyFile(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-db-'))
  const path = join(folder, 'ledger.db')
  await (await openDatabase({ url: path })).close()
  const file = readFileSync(path)
  rmSync(folder, { recursive: true })
  return file
}
