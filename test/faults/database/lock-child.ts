/** Takes the write lock of the database named, says so, and keeps it until its input ends. */
import { once } from 'node:events'

import { openSqlite3 } from '../../../src/db/sqlite3/connection.ts'

const [path = ''] = process.argv.slice(2)
const connection = await openSqlite3({ path, mode: 'read-write', heldLimitMs: 60_000 })
await connection.begin()
process.stdout.write('locked\n')
process.stdin.resume()
await once(process.stdin, 'end')
await connection.rollback()
await connection.close()
