/** Durable signed receipts from 64 clients, against a bare service with the same checks and rows, and on PostgreSQL. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { newPostgresDatabase } from '../../../test/support/new-database.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Suite } from '../bench.ts'
import { databaseIn, load, startPeer, startService } from '../processes.ts'
import { listPlatform, signReceipts } from '../receipts.ts'

export const writes: Suite = {
  about: 'signed receipts, durable before they are answered',
  prepare: async ({ dir, quick, running }) => {
    const [warm, count] = quick ? [1500, 3000] : [4000, 12_000]
    let runs = 0
    const post = async (server: ServerProcess) => {
      runs += 1
      return await load(server, await signReceipts(`run ${runs}`, warm + count), warm)
    }
    const env = listPlatform(join(dir, 'run'))
    const service = await running(startService(dir, { env }))
    // The bare service copies the rows of this first run.
    await post(service)
    const postToPeer = async () => {
      const target = join(dir, 'bare.db')
      const files = { SOURCE: databaseIn(dir), TARGET: target }
      const peer = await startPeer('bare-receipts', { env: files })
      try {
        return await post(peer)
      } finally {
        await peer.stop()
        for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true })
      }
    }
    const postgres = await running(startPostgres())
    const other = join(dir, 'postgres')
    listPlatform(join(other, 'run'))
    for (const keys of ['run/keys', 'run/secrets']) {
      cpSync(join(dir, keys), join(other, keys), { recursive: true })
    }
    const settings = {
      ...env,
      DATABASE_URL: await newPostgresDatabase(postgres.url),
      SMTP_URL: 'smtp://127.0.0.1:1',
      SNAPSHOT_GIT_REMOTE: join(dir, 'archive'),
    }
    const onPostgres = await running(startService(other, { env: settings }))
    return [
      {
        what: 'signed receipt',
        ours: () => post(service),
        peer: ['bare service', postToPeer],
        figures: {
          cpuUs: { unit: 'µs', mostRatio: 1.15 },
          perSecond: { unit: '1/s', leastRatio: 0.85 },
          p99Ms: { unit: 'ms' },
        },
      },
      {
        what: 'signed receipt on PostgreSQL',
        ours: () => post(onPostgres),
        peer: ['SQLite', () => post(service)],
        figures: {
          cpuUs: { unit: 'µs' },
          perSecond: { unit: '1/s', leastRatio: 0.9 },
          p99Ms: { unit: 'ms' },
        },
      },
    ]
  },
}
