/** `<database> <rpc url> <now>`: one run of the hourly job that says when each of its writes begins and has ended. */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'

import { checkReceipts } from '../../builder/jobs/check-receipts.ts'
import { openDatabase } from '../../src/db/open.ts'

const [path = '', rpcUrl = '', now = ''] = process.argv.slice(2)
const database = await openDatabase({ url: path })
const said: typeof database.write = async (work) => {
  writeSync(1, 'begins\n')
  const value = await database.write(work)
  writeSync(1, 'ended\n')
  return value
}
await checkReceipts({
  database: { ...database, write: said },
  clock: {
    now: () => Number(now),
    monotonic: () => performance.now(),
    sleep: () => Promise.resolve(),
  },
  random: { bytes: (length) => randomBytes(length), unit: () => 0.5 },
  fetch,
  rpcUrls: { arbitrum: rpcUrl },
  signal: new AbortController().signal,
})
await database.close()
