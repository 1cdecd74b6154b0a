/** What builds leave in the queue of the log. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { emptyBuildMemory } from '../../builder/jobs/build-memory.ts'
import { build } from '../../builder/jobs/build.ts'
import type { BuildOptions } from '../../builder/jobs/build.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { createHistory } from '../../builder/world/history.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { loadKeys } from '../../src/auth/service-keys.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { lastVersion } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { quietLog } from '../support/quiet-log.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('builds the whole site three times')

const startMs = Date.UTC(2026, 10, 21, 6)

test('a published set is queued for the log once, by the next build if the database fails after its publication', async () => {
  const database = await tempDatabase()
  const stateDir = tempFolder()
  const publicDir = join(stateDir, 'public')
  const manifestNow = () => sha256Hex(readFileSync(join(publicDir, 'current/snapshot.json')))
  const memory = emptyBuildMemory({ dataDir: 'data', stateDir })
  const keys = await loadKeys({ dir: join(stateDir, 'keys'), nowMs: startMs })
  const active = signingKeyFromSeed(new Uint8Array(32).fill(7))
  const buildAt = async (nowMs: number, write: OpenDatabase['write'] = database.write) => {
    const options: BuildOptions = {
      database: { ...database, write },
      history: createHistory(database.reader),
      dataDir: 'data',
      adapters: railAdapters,
      site: {
        url: 'https://ledger.test',
        serviceName: 'agent-income-ledger',
        version: '0.0.0',
        historyUrl: null,
        payments: { settlement: 'off', receiver: null },
      },
      pollEveryMs: 6 * hourMs,
      keys,
      exchangeKeys: async () => await Promise.resolve({ active, retired: [] }),
      stateDir,
      publicDir,
      assetsDir: null,
      repository: { remote: null, env: { PATH: process.env['PATH'] ?? '' } },
      nowMs,
      memory,
      log: quietLog,
      lastVersion: async () => await lastVersion(database.reader),
    }
    await build(options)
  }
  const queued = async () => {
    const rows = database.reader.selectFrom('log_queue').selectAll().orderBy('seq')
    const snapshots = await rows.where('kind', '=', 'snapshot').execute()
    return snapshots.map(({ sha256 }) => sha256)
  }
  await buildAt(startMs)
  const first = manifestNow()
  // The first build may have published a second set, with the images.
  expect((await queued()).at(-1)).toBe(first)
  const before = await queued()
  await expect(
    buildAt(startMs + dayMs, async (work, locks) => {
      if (manifestNow() !== first) throw new Error('the database is away')
      return await database.write(work, locks)
    }),
  ).rejects.toThrow('the database is away')
  const missed = manifestNow()
  expect(missed).not.toBe(first)
  expect(await queued()).toEqual(before)
  await buildAt(startMs + 2 * dayMs)
  const last = manifestNow()
  expect((await queued()).slice(before.length)).toEqual([missed, last])
})
