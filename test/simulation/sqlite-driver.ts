/** Replaces `sqlite3` in this suite. The simulated machine decides when each operation runs and whether it fails. */
import { createRequire } from 'node:module'

import type sqlite3 from 'sqlite3'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the package describes its own types.
const real = createRequire(import.meta.url)('sqlite3') as typeof sqlite3

type Failed = Error | null
export type Rows = readonly Readonly<Record<string, unknown>>[]

export interface Operation {
  readonly connection: Database
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Runs it on the real file; the result is kept until `finish`. */
  readonly execute: () => Promise<Failed>
  readonly finish: (error: Failed) => void
}

export interface Machine {
  readonly opened: (connection: Database) => void
  readonly submit: (operation: Operation) => void
}

let mounted: Machine | null = null

/** Sets the machine of connections opened from now on. */
export function mount(machine: Machine | null): void {
  mounted = machine
}

/** Runs everything immediately, outside of a run. */
export const plainMachine: Machine = {
  opened: () => undefined,
  submit: ({ execute, finish }) => void execute().then(finish),
}

class Statement {
  readonly #connection: Database
  readonly #sql: string
  #prepared: sqlite3.Statement | null = null

  constructor(connection: Database, sql: string) {
    this.#connection = connection
    this.#sql = sql
  }

  all(parameters: readonly unknown[], done: (error: Failed, rows: Rows) => void): void {
    let found: Rows = []
    const work = (statement: sqlite3.Statement, resolve: (error: Failed) => void): void => {
      statement.all<Rows[number]>([...parameters], (error, rows) => {
        found = rows
        resolve(error)
      })
    }
    this.#submit(parameters, work, (error) => done(error, error === null ? found : []))
  }

  run(
    parameters: readonly unknown[],
    done: (this: { readonly changes: number; readonly lastID: number }, error: Failed) => void,
  ): void {
    let result = { changes: 0, lastID: 0 }
    const work = (statement: sqlite3.Statement, resolve: (error: Failed) => void): void => {
      statement.run([...parameters], function finished(error) {
        result = { changes: this.changes, lastID: this.lastID }
        resolve(error)
      })
    }
    this.#submit(parameters, work, (error) => done.call(result, error))
  }

  finalize(): void {
    this.#prepared?.finalize()
    this.#prepared = null
  }

  #submit(
    parameters: readonly unknown[],
    work: (statement: sqlite3.Statement, resolve: (error: Failed) => void) => void,
    finish: (error: Failed) => void,
  ): void {
    const execute = async (): Promise<Failed> => {
      const prepared = this.#prepared ?? (await this.#connection.reallyPrepare(this.#sql))
      if (prepared instanceof Error) return prepared
      this.#prepared = prepared
      return await new Promise((resolve) => work(prepared, resolve))
    }
    const connection = this.#connection
    connection.machine.submit({ connection, sql: this.#sql, parameters, execute, finish })
  }
}

class Database {
  readonly machine: Machine
  readonly #database: sqlite3.Database
  readonly #statements = new Set<Statement>()
  #isClosed = false

  constructor(path: string, flags: number, done: (error: Failed) => void) {
    if (mounted === null) throw new Error('a database is opened outside of the simulation')
    this.machine = mounted
    this.#database = new real.Database(path, flags, done)
    this.machine.opened(this)
  }

  exec(sql: string, done: (error: Failed) => void): void {
    const execute = () => this.reallyExec(sql)
    this.machine.submit({ connection: this, sql, parameters: [], execute, finish: done })
  }

  /** Prepared when it first runs: a statement that cannot be prepared fails there. */
  prepare(sql: string, done: (error: Failed) => void): Statement {
    const statement = new Statement(this, sql)
    this.#statements.add(statement)
    process.nextTick(done, null)
    return statement
  }

  reallyExec(sql: string): Promise<Failed> {
    return new Promise((resolve) => {
      this.#database.exec(sql, resolve)
    })
  }

  reallyPrepare(sql: string): Promise<sqlite3.Statement | Error> {
    return new Promise((resolve) => {
      const made: sqlite3.Statement = this.#database.prepare(sql, (error) => resolve(error ?? made))
    })
  }

  /** Reads in the open transaction, at once. */
  reallyAll(sql: string): Promise<Rows> {
    return new Promise((resolve, reject) => {
      this.#database.all<Rows[number]>(sql, (error, rows) => {
        if (error === null) resolve(rows)
        else reject(error)
      })
    })
  }

  /** Timers of a process that was killed may still call this. */
  interrupt(): void {
    if (!this.#isClosed) this.#database.interrupt()
  }

  /** Loses uncommitted changes. */
  close(done: (error: Failed) => void): void {
    for (const statement of this.#statements) statement.finalize()
    this.#statements.clear()
    this.#isClosed = true
    this.#database.close(done)
  }
}

export type { Database }

export default {
  Database,
  OPEN_READWRITE: real.OPEN_READWRITE,
  OPEN_CREATE: real.OPEN_CREATE,
  OPEN_READONLY: real.OPEN_READONLY,
}
