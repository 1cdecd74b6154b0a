export interface Migration {
  /** Number and topic. Stored in the database, so never changed. */
  readonly name: string
  /** Statements that run in order, in the transaction of the whole run. Tables are STRICT. */
  readonly up: readonly string[]
}
