import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { emptyBuildMemory } from '../../builder/jobs/build-memory.ts'
import { build, buildIfChanged } from '../../builder/jobs/build.ts'
import type { BuildOptions } from '../../builder/jobs/build.ts'
import type { PublishOutcome } from '../../builder/publish/publish.ts'
import { rotateKey } from '../../scripts/cli/admin/keys.ts'
import { loadKeys } from '../../src/auth/service-keys.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
/** Compares incremental builds with builds without memory. */
import { toBase64 } from '../../src/core/base64.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { buildOptions, firstExchangeKeys } from '../support/build-options.ts'
import { randomFrom } from '../support/random.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { fillDisk } from './full-disk.ts'
import { documentWrites } from './random-writes.ts'
import type { Write } from './random-writes.ts'

allowSlowTests('builds after hundreds of random writes')

const timeoutMs = 600_000
/** `BUILDS_SEED` repeats the same order. */
const seed = Number(process.env['BUILDS_SEED'] ?? 20_261_121)
const startMs = Date.UTC(2026, 10, 21, 6)
const rails = ['apify', 'pact', 'x402']

let root: string
let database: OpenDatabase

beforeAll(async () => {
  // In memory, so that no disk fails.
  const memory = '/dev/shm'
  root = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'ledger-incremental-'))
  cpSync('data', join(root, 'data'), {
    recursive: true,
    filter: (path) => !path.startsWith('data/run'),
  })
  for (const file of readdirSync(join(root, 'data/rails'))) {
    if (!rails.includes(file.replace('.json', ''))) rmSync(join(root, 'data/rails', file))
  }
  database = await openDatabase({ url: join(root, 'ledger.db') })
})
afterAll(async () => {
  await database.close()
  rmSync(root, { recursive: true })
})

/** Mostly short, since documents that show an age change after ten minutes. */
const pauses = [minuteMs, minuteMs, minuteMs, minuteMs, 11 * minuteMs, 7 * hourMs, 8 * dayMs]
const others = ['keys rotated', 'exchange keys rotated', 'disk full', 'disk full later'] as const

test(
  'incremental builds publish byte for byte what builds without memory publish',
  async () => {
    const random = randomFrom(seed)
    const below = (end: number) => Math.floor(random() * end)
    const dataDir = join(root, 'data')
    const writes: Readonly<Record<string, Write>> = documentWrites(dataDir, rails)
    const keysDir = join(root, 'keys')
    const remembering = join(root, 'remembering')
    const memory = emptyBuildMemory({ dataDir })
    let keys = await loadKeys({ dir: keysDir, nowMs: startMs })
    let exchangeKeys: Awaited<ReturnType<BuildOptions['exchangeKeys']>> = firstExchangeKeys
    let nowMs = startMs
    let n = 0
    /** Writes until the disk is full; null for a disk with space. */
    let room: number | null = null
    const done: string[] = []
    let published: PublishOutcome | null = null

    const optionsIn = (stateDir: string, database: OpenDatabase): BuildOptions => ({
      ...buildOptions({ database, dataDir, keys, stateDir }),
      exchangeKeys: () => Promise.resolve(exchangeKeys),
      nowMs,
    })
    const { history, store } = optionsIn(remembering, database)
    const kept = () => ({ ...optionsIn(remembering, database), history, store })

    async function write(name: string): Promise<void> {
      n += 1
      await database.write((tx) => writes[name]?.(tx, n, nowMs) ?? Promise.reject(new Error(name)))
    }

    async function happen(name: string): Promise<void> {
      done.push(name)
      switch (name) {
        case 'keys rotated':
          keys = await rotateKey({ dir: keysDir, nowMs })
          return
        case 'exchange keys rotated': {
          const { active, retired } = exchangeKeys
          const old = {
            public_key: toBase64(active.publicKey),
            retired_at: isoTime(nowMs),
          }
          const next = signingKeyFromSeed(Buffer.alloc(32, 8 + n))
          exchangeKeys = { active: next, retired: [old, ...retired] }
          return
        }
        case 'disk full':
        case 'disk full later':
          await write('event')
          room = name === 'disk full' ? 0 : 1 + below(4)
          return
        default:
          await write(name)
      }
    }

    async function compare(): Promise<void> {
      const fresh = join(root, 'fresh')
      rmSync(fresh, { recursive: true, force: true })
      if (done.length > 0) cpSync(remembering, fresh, { recursive: true, verbatimSymlinks: true })
      const copy = await copyOfDatabase(fresh)
      if (room !== null) {
        const disk = fillDisk(room)
        try {
          await expect(build({ ...kept(), memory })).rejects.toMatchObject({
            code: 'ENOSPC',
          })
        } finally {
          disk.empty()
        }
        room = null
      }
      // Job runs alone cause no build.
      const isRun = done.at(-1) === 'run'
      const options = { ...kept(), memory }
      const built = await (isRun ? build(options) : buildIfChanged(options))
      if (built !== null) published = built.published
      const other = await build(optionsIn(fresh, copy))
      await copy.close()
      const happened = `BUILDS_SEED=${seed}: ${done.join(', ')}`
      expect(published?.manifest.documents, happened).toEqual(other.published.manifest.documents)
    }

    await compare()
    const deck = shuffled([...Object.keys(writes), ...others], random)
    while (deck.length > 0) {
      nowMs += pauses[below(pauses.length)] ?? minuteMs
      for (const name of deck.splice(0, 1 + below(3))) await happen(name)
      await compare()
    }
    expect(new Set(done)).toEqual(new Set([...Object.keys(writes), ...others]))
  },
  timeoutMs,
)

/** Nothing is written between the builds. */
async function copyOfDatabase(dir: string): Promise<OpenDatabase> {
  mkdirSync(dir, { recursive: true })
  for (const file of ['ledger.db', 'ledger.db-wal']) cpSync(join(root, file), join(dir, file))
  return await openDatabase({ url: join(dir, 'ledger.db') })
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
