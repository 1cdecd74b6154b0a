/** Writes all public data as one SQLite file and one CSV for each table, and stores them next to the published sets. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { appendFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { CompiledQuery } from 'kysely'
import { z } from 'zod'

import type { ExportList } from '../../src/contract/schemas/export.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { csvLines } from '../../src/core/csv.ts'
import type { Cell } from '../../src/core/csv.ts'
import { EXPORT_PREFIX, exportPartKey, immutable } from '../../src/core/documents.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { newestPublication } from '../../src/db/publications.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import { createArticles } from '../desk/weekly.ts'
import { asJson } from '../documents/document.ts'
import { contentTypeOf } from '../publish/assets.ts'
import type { PublicFiles } from '../publish/store/store.ts'
import { lastExport, saveExport } from '../world/exported.ts'
import { gatherWorld } from '../world/gather.ts'
import type { GatherOptions } from '../world/gather.ts'
import { columnsOf, exportTables } from './tables.ts'
import type { ExportTable } from './tables.ts'

export interface ExportOptions extends Omit<GatherOptions, 'memory'> {
  readonly store: PublicFiles
  /** The files are written here first. */
  readonly dir: string
  /** @throws LeaseLostError */
  readonly check: () => Promise<void>
  readonly isDemo: boolean
  readonly signal: AbortSignal
}

/** The job runs every hour, so an export that is due in half an hour would be late. */
const dueMs = dayMs - hourMs / 2
/** Limits the memory of a download. */
const partBytes = 2 ** 19
/** SQLite’s limit of parameters per statement. */
const maxParameters = 32_766
const databaseFile = 'ledger.sqlite'
const headers = { 'content-type': 'application/octet-stream', 'cache-control': immutable }

/** Returns null if the last export is not a day old. */
export async function exportIfDue(options: ExportOptions): Promise<ExportList | null> {
  const { database, dir, nowMs, store, check } = options
  const last = await lastExport(database.reader)
  if (last !== null && nowMs - Date.parse(last.as_of) < dueMs) return null
  await rm(dir, { recursive: true, force: true })
  await mkdir(dir, { recursive: true })
  try {
    const list = await exportNow(options)
    await database.write((tx) => saveExport(tx, list))
    // The previous files too, which services send until they have loaded the new list.
    const kept = [...(last?.files ?? []), ...list.files].map(({ sha256 }) => sha256)
    for (const key of (await store.list(EXPORT_PREFIX)).keys()) {
      await check()
      if (!kept.some((sha256) => key.startsWith(exportPartKey(sha256, '')))) await store.remove(key)
    }
    return list
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function exportNow(options: ExportOptions): Promise<ExportList> {
  const { database, dir, nowMs, store, check } = options
  const world = createArticles()(await gatherWorld(options))
  const newest = await newestPublication(database.reader)
  const about = {
    ledger: world.site.url,
    as_of: isoTime(nowMs),
    set_version: newest?.version ?? null,
    manifest_sha256: newest?.manifestSha256 ?? null,
    ...(options.isDemo ? { demo: 'All workers, receipts, jobs and figures are invented.' } : {}),
  }
  const tables = await exportTables(world, database.reader, nowMs)
  const counts = await writeTables({ ...tables, ...tablesAbout(tables, about) }, options)
  const known = await store.list(EXPORT_PREFIX)
  const files: ExportList['files'] = []
  for (const [name, rows] of [[databaseFile, null] as const, ...counts]) {
    await check()
    const stored = await storeFile(join(dir, name), store, known)
    files.push({ path: `/export/${name}`, content_type: contentTypeOf(name), rows, ...stored })
  }
  return { as_of: about.as_of, set_version: about.set_version, files }
}

function tablesAbout(
  tables: Readonly<Record<string, ExportTable>>,
  about: Readonly<Record<string, Cell>>,
) {
  const text = z.string()
  const columns = Object.entries(tables).flatMap(([table, [schema]]) =>
    columnsOf(schema).map(({ name: column, ...described }) => ({ table, column, ...described })),
  )
  return {
    about: [
      z.object({ name: text, value: text }),
      [Object.entries(about).map(([name, value]) => ({ name, value }))],
    ],
    columns: [z.object({ table: text, column: text, type: text, meaning: text }), [columns]],
  } satisfies Record<string, ExportTable>
}

/** Returns the number of rows of each CSV file. The calls of SQLite run on other threads. */
async function writeTables(
  tables: Readonly<Record<string, ExportTable>>,
  { dir, signal }: Pick<ExportOptions, 'dir' | 'signal'>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const path = join(dir, databaseFile)
  const database = await openSqlite3({ path, mode: 'create', heldLimitMs: hourMs })
  try {
    // Nobody reads the file before it is complete.
    await database.exec('pragma journal_mode = off; pragma synchronous = off; begin')
    for (const [table, [schema, groups]] of entriesOf(tables)) {
      const columns = columnsOf(schema)
      const definitions = columns.map(({ name, type }) => `"${name}" ${type}`).join()
      await database.exec(`create table "${table}" (${definitions}) strict`)
      const insert = `insert into "${table}" values`
      const placeholders = `(${columns.map(() => '?').join()})`
      const rowsPerInsert = Math.floor(maxParameters / columns.length)
      const file = `${table}.csv`
      counts.set(file, 0)
      await appendFile(join(dir, file), csvLines([columns.map(({ name }) => name)]))
      for await (const group of groups) {
        signal.throwIfAborted()
        const rows = group.map((row) => columns.map(({ name }) => cellOf(row, name)))
        // As parameters, since SQLite rounds some of the numbers that it parses from text.
        for (let at = 0; at < rows.length; at += rowsPerInsert) {
          const part = rows.slice(at, at + rowsPerInsert)
          const values = part.map(() => placeholders).join()
          await database.executeQuery(CompiledQuery.raw(`${insert} ${values}`, part.flat()))
        }
        await appendFile(join(dir, file), csvLines(rows))
        counts.set(file, (counts.get(file) ?? 0) + rows.length)
      }
    }
    await database.exec('commit')
  } finally {
    await database.close()
  }
  return counts
}

const cell = z.union([z.string(), z.number(), z.boolean()]).nullable()

/** Null for an absent member and for an unknown figure. */
function cellOf(row: object, name: string): Cell {
  if (
    'unknown_figures' in row &&
    Array.isArray(row.unknown_figures) &&
    row.unknown_figures.includes(name)
  )
    return null
  const value: unknown = Reflect.get(row, name)
  if (typeof value === 'object' && value !== null) return canonicalize(asJson(value))
  return cell.parse(value ?? null)
}

/** Stores a file in parts below its hash, so that a reader never gets parts of two files. */
async function storeFile(path: string, store: PublicFiles, known: ReadonlyMap<string, number>) {
  const hash = createHash('sha256')
  let size = 0
  const whole: AsyncIterable<Buffer> = createReadStream(path)
  for await (const bytes of whole) {
    hash.update(bytes)
    size += bytes.length
  }
  const sha256 = hash.digest('hex')
  let part = 0
  const parts: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: partBytes })
  for await (const bytes of parts) {
    const key = exportPartKey(sha256, part)
    if (!known.has(key)) await store.put(key, bytes, headers)
    part += 1
  }
  return { size, sha256 }
}
