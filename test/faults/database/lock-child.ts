/** Acquires the write lock of a database, prints `locked`, and releases the lock when its input ends. */
import { once } from 'node:events'

import { openSqlite3 } from '../../../src/db/sqlite3/connection.ts'

const [path = ''] = process.argv.slice(2)
const connection = await openSqlite3({ path, mode: 'read-write', heldLimitMs: 60_000 })
await connection.begin('')
process.stdout.write('locked\n')
process.stdin.resume()
await once(process.stdin, 'end')
await connection.rollback()
await connection.close()
