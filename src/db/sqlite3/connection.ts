/**
 * One connection of the `sqlite3` package (node-sqlite3), for Kysely. The package is archived upstream and pinned.
 * Its faults and their workarounds in this folder:
 * - It stores a bigint, NaN and undefined as NULL, an object as `[object Object]`, a Date as a number, a lone
 * surrogate as U+FFFD, and returns integers beyond 2^53 rounded. All are refused.
 * - Statements of several async scopes interleave on its connection: a rollback of one request undoes an acknowledged
 * insert of another. A lock serialises every use.
 * - It binds integers beyond 2^31 as REAL. STRICT INTEGER columns convert them back; in expressions, a division by
 * such a parameter is a floating-point division.
 * - `Database#run` prepares its statement each time; here prepared statements are cached.
 */
import type { CompiledQuery, QueryResult, RootOperationNode } from 'kysely'
import sqlite3 from 'sqlite3'

import { createConnectionMutex } from '../connection-mutex.ts'
import type { ConnectionMutex } from '../connection-mutex.ts'
import { refuseStreaming } from '../dialect.ts'
import type { WriteConnection } from '../dialect.ts'
import { BusyError, DatabaseBrokenError } from '../errors.ts'
import { toParameter, unsafeColumn } from '../values.ts'
import type { SqlParameter } from '../values.ts'
import { meaningOf, transactionLost } from './failures.ts'

export interface Sqlite3Options {
  /** A file; databases in memory have one connection only. */
  readonly path: string
  readonly mode: 'create' | 'read-write' | 'read-only'
  readonly heldLimitMs: number
  /** Longest wait for the write lock of another process; default 5 s. */
  readonly lockPatienceMs?: number | undefined
  readonly onBroken?: (error: DatabaseBrokenError) => void
}

const defaultLockPatienceMs = 5000
/** SQLite polls at growing intervals, but a busy writer frees the lock for only 1 ms. A round of 8 ms polls four times. */
const beginImmediate = 'pragma busy_timeout = 8; begin immediate; pragma busy_timeout = 5000'
const restoreBusyTimeout = 'pragma busy_timeout = 5000'

const statementLimit = 256

/** @throws DatabaseRefusedError if the file cannot be opened */
export async function openSqlite3(options: Sqlite3Options): Promise<Sqlite3Connection> {
  const flags = {
    create: sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE,
    'read-write': sqlite3.OPEN_READWRITE,
    'read-only': sqlite3.OPEN_READONLY,
  }[options.mode]
  const database = await new Promise<sqlite3.Database>((resolve, reject) => {
    const opened = new sqlite3.Database(options.path, flags, (error) => {
      if (error === null) resolve(opened)
      else reject(meaningOf(error, codeOf(error), options.path))
    })
  })
  return new Sqlite3Connection(database, options)
}

/** The only connection to a file. Callers acquire the `mutex` first; Kysely does so through the driver. */
export class Sqlite3Connection implements WriteConnection {
  readonly engine = 'sqlite'
  readonly mutex: ConnectionMutex
  readonly streamQuery = refuseStreaming
  readonly #database: sqlite3.Database
  readonly #options: Sqlite3Options
  readonly #statements = new Map<string, sqlite3.Statement>()
  #inTransaction = false
  #lost: Error | null = null
  #broken: DatabaseBrokenError | null = null

  constructor(database: sqlite3.Database, options: Sqlite3Options) {
    this.#database = database
    this.#options = options
    this.mutex = createConnectionMutex(options.heldLimitMs)
  }

  /** Set when the disk or the file fails. All later uses are refused. */
  get broken(): DatabaseBrokenError | null {
    return this.#broken
  }

  get lost(): Error | null {
    return this.#lost
  }

  async begin(first: string): Promise<void> {
    const untilMs = performance.now() + (this.#options.lockPatienceMs ?? defaultLockPatienceMs)
    for (;;) {
      try {
        // Immediate: a deferred transaction that reads before it writes gets SQLITE_BUSY at once.
        await this.exec(`${beginImmediate}; ${first}`)
        break
      } catch (error) {
        if (error instanceof BusyError && performance.now() < untilMs) continue
        if (error instanceof BusyError) await this.exec(restoreBusyTimeout)
        // The transaction may have begun before the failure.
        else await new Promise((resolve) => this.#database.exec('rollback', resolve))
        throw error
      }
    }
    this.#inTransaction = true
  }

  async commit(): Promise<void> {
    await this.exec('commit')
    this.#inTransaction = false
  }

  async rollback(): Promise<void> {
    const ended = this.#lost !== null || this.#broken !== null
    this.#lost = null
    this.#inTransaction = false
    // Rolls back on a broken connection too, which would otherwise keep the write lock.
    const cause = await new Promise<Error | null>((resolve) =>
      this.#database.exec('rollback', resolve),
    )
    if (cause === null || ended) return
    throw this.#break(new DatabaseBrokenError('A transaction could not be rolled back.', { cause }))
  }

  #break(error: DatabaseBrokenError): DatabaseBrokenError {
    const isFirst = this.#broken === null
    this.#broken = error
    if (isFirst) this.#options.onBroken?.(error)
    return error
  }

  async exec(sql: string): Promise<void> {
    this.#refuseIfGone()
    const error = await new Promise<Error | null>((resolve) => this.#database.exec(sql, resolve))
    if (error !== null) throw this.#explain(error)
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    this.#refuseIfGone()
    const parameters = query.parameters.map(toParameter)
    const statement = await this.#prepare(query.sql)
    return answersRows(query.query)
      ? this.#all<Row>(statement, parameters, query.query)
      : this.#run<Row>(statement, parameters, query.query)
  }

  interrupt(): void {
    this.#database.interrupt()
  }

  /** Callers acquire the mutex first. */
  async close(): Promise<void> {
    for (const statement of this.#statements.values()) statement.finalize()
    this.#statements.clear()
    await new Promise<void>((resolve, reject) => {
      this.#database.close((error) => (error === null ? resolve() : reject(error)))
    })
  }

  #all<Row>(
    statement: sqlite3.Statement,
    parameters: readonly SqlParameter[],
    node: RootOperationNode,
  ): Promise<QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      statement.all<Row & Record<string, unknown>>(parameters, (error, rows) => {
        if (error !== null) return reject(this.#explain(error))
        const unsafe = unsafeColumn(rows)
        if (unsafe !== null) return reject(unsafe)
        if (node.kind === 'SelectQueryNode' || node.kind === 'RawNode') return resolve({ rows })
        return resolve({ rows, numAffectedRows: BigInt(rows.length) })
      })
    })
  }

  #run<Row>(
    statement: sqlite3.Statement,
    parameters: readonly SqlParameter[],
    node: RootOperationNode,
  ): Promise<QueryResult<Row>> {
    return new Promise((resolve, reject) => {
      const explain = (error: Error): Error => this.#explain(error)
      statement.run(parameters, function done(error) {
        if (error !== null) return reject(explain(error))
        const numAffectedRows = BigInt(this.changes)
        // The driver repeats the last id after every statement. The id is valid only after an insert.
        if (node.kind !== 'InsertQueryNode' || this.changes === 0) {
          return resolve({ rows: [], numAffectedRows })
        }
        return resolve({ rows: [], numAffectedRows, insertId: BigInt(this.lastID) })
      })
    })
  }

  async #prepare(sql: string): Promise<sqlite3.Statement> {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) {
      this.#statements.delete(sql)
      this.#statements.set(sql, cached)
      return cached
    }
    const statement = await new Promise<sqlite3.Statement>((resolve, reject) => {
      const prepared = this.#database.prepare(sql, (error) =>
        error === null ? resolve(prepared) : reject(this.#explain(error)),
      )
    })
    this.#statements.set(sql, statement)
    const [[oldestSql, oldest] = [sql, statement]] = this.#statements
    if (this.#statements.size > statementLimit) {
      this.#statements.delete(oldestSql)
      oldest.finalize()
    }
    return statement
  }

  #refuseIfGone(): void {
    if (this.#broken !== null) throw this.#broken
    if (this.#lost !== null) throw this.#lost
  }

  /** Also records a lost transaction or a broken file. */
  #explain(error: Error): Error {
    const code = codeOf(error)
    const explained = meaningOf(error, code, this.#options.path)
    if (explained instanceof DatabaseBrokenError) this.#break(explained)
    if (this.#inTransaction && transactionLost.has(code)) this.#lost = explained
    return explained
  }
}

const codeOf = (error: Error): unknown => ('code' in error ? error.code : undefined)

/** `run` reports counts and ids, `all` reports rows; the driver cannot do both. */
function answersRows(node: RootOperationNode): boolean {
  if (node.kind === 'SelectQueryNode' || node.kind === 'RawNode') return true
  return 'returning' in node && node.returning !== undefined
}
