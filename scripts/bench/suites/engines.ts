/** Writes on PostgreSQL against SQLite, with one replica and three, and over a network of 1 ms. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'

import { newPostgresDatabase } from '../../../test/support/new-database.ts'
import { startPostgres } from '../../../test/support/postgres.ts'
import { startTcpProxy } from '../../../test/support/tcp-proxy.ts'
import { atLeast, atMost, ratioAtLeast, row, rowsOf } from '../rows.ts'
import { interleave } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { startPlatformService } from '../service.ts'
import { startTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const connections = 64
/** The added round trip to the database. */
const delayMs = 1

export const engines: Suite = {
  about: 'writes on PostgreSQL, with one replica and three, and over a network of 1 ms',
  run: async ({ dir, quick, log }) => {
    const [rounds, warm, count] = quick ? [2, 500, 3000] : [5, 2000, 10_000]
    const server = await startPostgres()
    const proxy = await startTcpProxy(server.port, delayMs)
    const stops: (() => Promise<void>)[] = [() => proxy.stop(), () => server.stop()]
    const start = async (name: string, url: string): Promise<string> => {
      const env: Record<string, string> = { TRUSTED_PROXIES: '127.0.0.1' }
      if (url !== '') {
        const unused = { SMTP_URL: 'smtp://127.0.0.1:1', SNAPSHOT_GIT_REMOTE: join(dir, 'archive') }
        Object.assign(env, { DATABASE_URL: url, ...unused })
        for (const part of ['run/keys', 'run/secrets']) {
          cpSync(join(dir, 'sqlite', part), join(dir, name, part), { recursive: true })
        }
      }
      const { origin, stop } = await startPlatformService(join(dir, name), { env })
      stops.unshift(stop)
      return origin
    }
    let runs = 0
    const load =
      (origins: readonly string[], registrations: boolean) => async (): Promise<Sample> => {
        runs += 1
        const given = { origins, warm, signed: count, connections, registrations }
        const task = startTask('post-receipts', { ...given, seed: `run ${runs}` })
        for (let pause = 0; pause < 2; pause += 1) {
          await task.next()
          task.go()
        }
        return await task.next()
      }
    try {
      const shared = await newPostgresDatabase(server.url)
      const slow = new URL(await newPostgresDatabase(server.url))
      slow.port = String(proxy.port)
      const sqlite = [await start('sqlite', '')]
      const one = [await start('one', await newPostgresDatabase(server.url))]
      const three: string[] = []
      for (const name of ['first', 'second', 'third']) three.push(await start(name, shared))
      const far = [await start('far', slow.href)]
      log('  services are running')
      const samples = await interleave(rounds, {
        sqlite: load(sqlite, false),
        one: load(one, false),
        three: load(three, false),
        far: load(far, false),
        'sqlite writes': load(sqlite, true),
        'one writes': load(one, true),
        'far writes': load(far, true),
      })
      return {
        rows: rowsOf(samples, [
          row('grouped receipts', '1/s', 'one.perSecond', 'sqlite.perSecond', ratioAtLeast(0.9)),
          row('…, three replicas', '1/s', 'three.perSecond', 'sqlite.perSecond', ratioAtLeast(1.3)),
          row('…, 1 ms', '1/s', 'far.perSecond', 'sqlite.perSecond', atLeast(3000)),
          row('…, 1 ms, p99', 'ms', 'far.p99Ms', 'sqlite.p99Ms', atMost(250)),
          row('registrations', '1/s', 'one writes.perSecond', 'sqlite writes.perSecond'),
          row('…, 1 ms', '1/s', 'far writes.perSecond', 'sqlite writes.perSecond', atLeast(500)),
          row('…, 1 ms, p99', 'ms', 'far writes.p99Ms', 'sqlite writes.p99Ms', atMost(250)),
        ]),
        facts: { connections, writes_per_round: count },
      }
    } finally {
      for (const stop of stops) await stop()
    }
  },
}
