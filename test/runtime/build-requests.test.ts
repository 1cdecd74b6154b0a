import { expect, test } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'
import { createBuildRequests, createBuildRequestWatch } from '../../src/runtime/build-requests.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { gate, tempDatabase } from '../db/temp-database.ts'
import { quietLog } from '../support/quiet-log.ts'

test('a builder builds once for the writes of each replica, whose requests share a row', async () => {
  const ofBuilder = await tempDatabase()
  let builds = 0
  const look = createBuildRequestWatch(ofBuilder, () => {
    builds += 1
    return Promise.resolve()
  })
  await look()
  expect(builds).toBe(0)
  for (let replica = 1; replica <= 2; replica += 1) {
    const database = await openDatabase({ url: ofBuilder.url })
    const written = gate()
    const request = createBuildRequests({
      database: {
        write: async (work, locks) => {
          const value = await database.write(work, locks)
          written.open()
          return value
        },
      },
      clock: systemClock,
      random: systemRandom,
      log: quietLog,
    })
    for (let write = 0; write < 100; write += 1) request()
    await written.opened
    await look()
    await look()
    expect(builds).toBe(replica)
    await database.close()
  }
})
