/**
 * One connection of the `pg` package, for Kysely. It pipelines: a statement is sent before the answer to the previous one.
 * After a failure of the server or the network, the next use outside of a transaction connects again.
 */
import { createHash } from 'node:crypto'

import type { CompiledQuery, QueryResult } from 'kysely'
import pg from 'pg'

import { createConnectionMutex } from '../connection-mutex.ts'
import type { ConnectionMutex } from '../connection-mutex.ts'
import { refuseStreaming } from '../dialect.ts'
import type { WriteConnection } from '../dialect.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { toParameter } from '../values.ts'
import { isConnectionLost, meaningOf } from './failures.ts'
import { resultTypes } from './types.ts'

export interface PostgresOptions {
  readonly url: string
  readonly heldLimitMs: number
  /** Longest wait for the lock of the ledger; default 5 s. */
  readonly lockPatienceMs?: number | undefined
  /** Longest time of one statement. */
  readonly statementLimitMs: number
  readonly readOnly: boolean
}

const defaultLockPatienceMs = 5000
const connectLimitMs = 5000
/** The server frees the locks of a holder that has stalled or lost its network. */
const idleInTransactionLimitMs = 5000
/** More forms of statements are rare, such as lists of many lengths, and are sent without a name. */
const namedLimit = 512

const reading = '-c default_transaction_read_only=on'
/**
 * Every statement of a write has an index. Without this, plans that were made while a table was empty scan it, until
 * autovacuum has analysed it.
 */
const writing = '-c enable_seqscan=off'

/** Serialises the writes of a ledger. `AIL1`, as in the files of SQLite. */
const ledgerLock = 0x41_49_4c_31

export class PostgresConnection implements WriteConnection {
  readonly engine = 'postgres'
  readonly mutex: ConnectionMutex
  readonly streamQuery = refuseStreaming
  readonly #options: PostgresOptions
  readonly #names = new Map<string, string>()
  #client: Promise<pg.Client> | null = null
  /** The client once it has connected. */
  #live: pg.Client | null = null
  #inTransaction = false
  #lost: Error | null = null
  #closed = false

  constructor(options: PostgresOptions) {
    this.#options = options
    this.mutex = createConnectionMutex(options.heldLimitMs)
  }

  get lost(): Error | null {
    return this.#lost
  }

  async begin(first: string): Promise<void> {
    // One snapshot for all reads.
    if (this.#options.readOnly)
      return await this.#begin('set transaction isolation level repeatable read')
    await this.#begin(
      `select pg_advisory_xact_lock(${ledgerLock})${first === '' ? '' : `; ${first}`}`,
    )
  }

  /** Begins a transaction that overlaps only with those begun by this method without a common lock. */
  async beginWith(locks: readonly string[]): Promise<void> {
    const keys = locks.map((lock) => createHash('sha256').update(lock).digest().readBigInt64BE())
    // The same order everywhere prevents deadlocks.
    const sorted = [...new Set(keys)].toSorted((a, b) => (a < b ? -1 : 1)).join(', ')
    await this.#begin(
      `select pg_advisory_xact_lock_shared(${ledgerLock}); ` +
        `select pg_advisory_xact_lock(key) from unnest(array[${sorted}]::bigint[]) as key`,
    )
  }

  async #begin(locks: string): Promise<void> {
    const patienceMs = this.#options.lockPatienceMs ?? defaultLockPatienceMs
    const begin = `begin; set local lock_timeout = ${patienceMs}; ${locks}; set local lock_timeout = 0`
    for (let isFirst = true; ; isFirst = false) {
      // Set before the answer: a connection that ends right after it must not be replaced within the transaction.
      this.#inTransaction = true
      try {
        await this.exec(begin)
        return
      } catch (error) {
        const isGone = this.#client === null
        await this.rollback()
        // The server may have closed an idle connection, for instance at its restart.
        if (!isGone || !isFirst || this.#closed) throw error
      }
    }
  }

  async commit(): Promise<void> {
    if (this.#lost !== null) throw this.#lost
    const { command } = await this.#send({ text: 'commit' })
    // PostgreSQL answers the commit of a failed transaction with a rollback, and no error.
    if (command !== 'COMMIT') throw new DatabaseUnavailableError('The transaction was undone.')
    this.#inTransaction = false
  }

  async rollback(): Promise<void> {
    this.#inTransaction = false
    this.#lost = null
    if (this.#client === null) return
    // A connection that cannot roll back is replaced, and the server undoes its transaction.
    await this.#send({ text: 'rollback' }).catch(() => this.#drop())
  }

  async exec(sql: string): Promise<void> {
    if (this.#lost !== null) throw this.#lost
    await this.#send({ text: sql })
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#lost !== null) throw this.#lost
    const values = query.parameters.map(toParameter)
    const { rows, rowCount } = await this.#send<Row & pg.QueryResultRow>({
      ...this.#named(query.sql),
      values,
    })
    return { rows, numAffectedRows: BigInt(rowCount ?? 0) }
  }

  /** The number of the server's process, null without a connection. */
  get processId(): number | null {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- missing in the types of pg
    return (this.#live as { readonly processID?: number } | null)?.processID ?? null
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => null)
    this.#client = null
    await client?.end()
  }

  #named(text: string): { readonly text: string; readonly name?: string } {
    let name = this.#names.get(text)
    if (name === undefined && this.#names.size < namedLimit) {
      name = createHash('sha256').update(text).digest('hex').slice(0, 32)
      this.#names.set(text, name)
    }
    return name === undefined ? { text } : { text, name }
  }

  async #send<Row extends pg.QueryResultRow>(config: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    if (this.#closed) throw new DatabaseUnavailableError('The database is closed.')
    const connecting = (this.#client ??= this.#connect())
    try {
      const client = await connecting.catch((error: unknown) => {
        if (this.#client === connecting) this.#client = null
        throw error
      })
      return await client.query<Row>(config)
    } catch (error) {
      if (isConnectionLost(error) && this.#client === connecting) this.#drop()
      throw meaningOf(error)
    }
  }

  async #connect(): Promise<pg.Client> {
    const { url, statementLimitMs, readOnly } = this.#options
    const client = new pg.Client({
      connectionString: url,
      types: resultTypes,
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: connectLimitMs,
      application_name: 'agent-income-ledger',
      statement_timeout: statementLimitMs,
      // Longer than the server's limit, so only a connection that has lost its server reaches it.
      query_timeout: statementLimitMs + connectLimitMs,
      idle_in_transaction_session_timeout: idleInTransactionLimitMs,
      options: `-c synchronous_commit=on -c timezone=UTC ${readOnly ? reading : writing}`,
    })
    const dropped = (): void => {
      if (this.#live === client) this.#drop()
    }
    client.on('error', dropped).on('end', dropped)
    await client.connect()
    this.#live = client
    return client
  }

  #drop(): void {
    const client = this.#client
    this.#client = null
    this.#live = null
    if (this.#inTransaction) {
      this.#lost = new DatabaseUnavailableError('The connection to PostgreSQL was lost.')
    }
    client?.then((gone) => gone.end()).catch(() => undefined)
  }
}
