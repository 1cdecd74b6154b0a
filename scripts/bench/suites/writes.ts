/** Durable signed receipts from 64 clients, against a bare service with the same checks and rows, and writes on PostgreSQL. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { newPostgresDatabase } from '../../../test/support/new-database.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import type { Suite } from '../bench.ts'
import { databaseIn, load, startPeer, startService } from '../processes.ts'
import { listPlatform, signReceipts, signRegistrations } from '../receipts.ts'

export const writes: Suite = {
  about: 'signed receipts and registrations, durable before they are answered',
  prepare: async ({ dir, quick, running }) => {
    const [warm, count] = quick ? [1500, 3000] : [4000, 12_000]
    let runs = 0
    const post = async (server: Parameters<typeof load>[0], sign = signReceipts) => {
      runs += 1
      return await load(server, await sign(`run ${runs}`, warm + count), warm)
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
    const settings = { SMTP_URL: 'smtp://127.0.0.1:1', SNAPSHOT_GIT_REMOTE: join(dir, 'archive') }
    const startReplica = async (name: string, DATABASE_URL: string) => {
      const folder = join(dir, name)
      listPlatform(join(folder, 'run'))
      for (const keys of ['run/keys', 'run/secrets']) {
        cpSync(join(dir, keys), join(folder, keys), { recursive: true })
      }
      return await running(startService(folder, { env: { ...env, ...settings, DATABASE_URL } }))
    }
    const url = await newPostgresDatabase(postgres.url)
    const onPostgres = await startReplica('first', url)
    const replicas = [
      onPostgres,
      await startReplica('second', url),
      await startReplica('third', url),
    ]
    const { port } = await running(startTcpProxy(postgres.port, 1))
    const farUrl = await newPostgresDatabase(postgres.url)
    const far = await startReplica('far', farUrl.replace(`:${postgres.port}/`, `:${port}/`))
    return [
      {
        what: 'signed receipt',
        ours: () => post(service),
        peer: ['bare service', postToPeer],
        figures: { cpuUs: { mostRatio: 1.15 }, perSecond: { leastRatio: 0.85 }, p99Ms: {} },
      },
      {
        what: 'signed receipt on PostgreSQL',
        ours: () => post(onPostgres),
        peer: ['SQLite', () => post(service)],
        figures: { cpuUs: {}, perSecond: { leastRatio: 0.9 }, p99Ms: {} },
      },
      {
        what: 'signed receipt, three replicas on PostgreSQL',
        ours: () => post(replicas),
        peer: ['one service, SQLite', () => post(service)],
        figures: { perSecond: { leastRatio: 1.3 }, p99Ms: {} },
      },
      {
        what: 'registration, PostgreSQL behind 1 ms',
        ours: () => post(far, signRegistrations),
        figures: { perSecond: { least: 500 }, p99Ms: {} },
      },
    ]
  },
}
