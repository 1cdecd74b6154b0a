import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { loadKeys } from '../../../src/auth/service-keys.ts'
import type { Keys } from '../../../src/auth/service-keys.ts'
import { bodyKey, filesNamedIn, manifestSchema } from '../../../src/core/documents.ts'
import { dayMs } from '../../../src/core/time.ts'
import { LeaseLostError } from '../../../src/db/leases.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { latestPublications } from '../../../src/db/publications.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { sha256, startMs, versionsOf } from '../../builder/publish/set.ts'
import { gate, tempDatabase } from '../../db/temp-database.ts'
import { quietLog } from '../../support/quiet-log.ts'
import { randomFrom } from '../../support/random.ts'
import { startFaultyProxy } from '../../support/s3/faulty-proxy.ts'
import type { FaultyProxy, ProxiedRequest } from '../../support/s3/faulty-proxy.ts'
import { noGateway, openBucket, useGateway } from '../../support/s3/gateway.ts'
import { smallWorld, startBuilder, startReplica } from '../../support/s3/publisher.ts'
import type { BuilderOptions } from '../../support/s3/publisher.ts'
import { readBucket } from '../../support/s3/read-bucket.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('publishes hundreds of times')

/** Differs from the first small world in one document. */
const oneChanged = [...smallWorld(2).slice(0, 1), ...smallWorld(1).slice(1)]

const leftOut = noGateway === null ? '' : ` (left out: ${noGateway})`

describe.skipIf(noGateway !== null)(`publishing to an object store${leftOut}`, () => {
  const gateway = useGateway()
  let keys: Keys
  let keysDir = ''
  beforeAll(async () => {
    keysDir = mkdtempSync(join(tmpdir(), 'ledger-keys-'))
    keys = await loadKeys({ dir: keysDir, nowMs: startMs })
  })
  afterAll(() => rmSync(keysDir, { recursive: true }))

  /** A database, and a bucket that is reached directly or by way of a proxy. */
  async function place(patienceMs?: number) {
    const address = await gateway.newBucket()
    const proxy = await startFaultyProxy(gateway.endpoint)
    const database = await tempDatabase()
    const direct = openBucket(address)
    const objects = openBucket({ ...address, endpoint: proxy.endpoint }, patienceMs)
    const start = (more: Partial<BuilderOptions> = {}) =>
      startBuilder({ database, objects, keys, ...more })
    return { proxy, database, direct, objects, start }
  }

  /** Delays the next matching request until `release` is called. */
  function holdOnce(proxy: FaultyProxy, matches: (request: ProxiedRequest) => boolean) {
    const [arrival, release] = [gate(), gate()]
    proxy.fail(async (request) => {
      if (!matches(request)) return undefined
      proxy.fail(() => undefined)
      arrival.open()
      await release.opened
      return undefined
    })
    return { arrived: arrival.opened, release: release.open }
  }

  const bucketVersions = ({ manifest, bodies }: Awaited<ReturnType<typeof readBucket>>) =>
    versionsOf({
      manifest,
      bodies: new Map([...bodies].filter(([path]) => !path.includes('keys'))),
    })
  const servedVersions = (replica: ReturnType<typeof startReplica>) => {
    const { manifest } = replica.state()
    if (manifest === null) return []
    const bodies = manifest.documents.flatMap(({ path }) => {
      const body = replica.get(path)?.variants.identity.body
      return body === undefined ? [] : [[path, body] as const]
    })
    return bucketVersions({ manifest, bodies: new Map(bodies) })
  }

  async function manifestAt(objects: ObjectStore, location: string) {
    const object = await objects.get(`${location}/snapshot.json`)
    return manifestSchema.parse(JSON.parse(String(object?.bytes)))
  }

  /** The versions of all sets of which the store has files, also of unfinished ones. */
  async function storedVersions(objects: ObjectStore) {
    const locations = new Set(
      [...(await objects.list('g/')).keys()].map((key) => key.split('/')[1]),
    )
    return [...locations].map((location) => Number(location?.split('-')[1]))
  }

  /** Returns the published sets, newest first, each of which names the one before. */
  async function expectChain(objects: ObjectStore, database: OpenDatabase) {
    const rows = await latestPublications(database.reader, 1000)
    const manifests = await Promise.all(rows.map(({ location }) => manifestAt(objects, location)))
    expect(manifests.map(({ version, previous }) => [version, previous])).toEqual(
      rows.map(({ version }, at) => [version, rows[at + 1]?.manifestSha256 ?? null]),
    )
    return rows
  }

  test('replicas and readers of the bucket see the same documents', async () => {
    const { database, direct, start } = await place()
    const builder = await start()
    const replica = startReplica(database, direct)
    await replica.reload()
    expect(replica.state().problem).toBe('nothing has been published yet')
    for (const version of [1, 2]) {
      const { manifest } = await builder.publish(smallWorld(version))
      await replica.reload()
      expect(replica.state()).toEqual({ manifest, problem: null, damaged: new Map() })
      const read = await readBucket(direct, keys.publicKeys)
      expect(read.manifest).toEqual(manifest)
      expect(bucketVersions(read)).toEqual([version])
      for (const { path, encodings } of manifest.documents) {
        const { identity, br, gzip } = replica.get(path)?.variants ?? {}
        expect(identity?.body).toEqual(read.bodies.get(path))
        expect(br ? sha256(br.body) : undefined).toBe(encodings.br?.sha256)
        expect(gzip ? sha256(gzip.body) : undefined).toBe(encodings.gzip?.sha256)
      }
    }
  })

  test('a publication uploads only what has changed, and nothing when nothing has', async () => {
    const { proxy, start } = await place()
    const builder = await start()
    await builder.publish(smallWorld(1))
    // Looks once for bodies that are missing.
    await builder.publish(smallWorld(1))
    const before = proxy.requests.length
    await builder.publish(smallWorld(1))
    expect(proxy.requests.slice(before)).toEqual([])
    await builder.publish(oneChanged)
    const written = proxy.requests.slice(before).filter(({ method }) => method === 'PUT')
    expect(written.map(({ key }) => key.replaceAll(/[0-9a-f]{12,}/g, '#')).sort()).toEqual([
      'current.json',
      'facts/#.jsonl.gz',
      'g/1-2-#/snapshot.json',
      'g/1-2-#/snapshot.json.br',
      'g/1-2-#/snapshot.json.gz',
      'g/1-2-#/snapshot.json.sig',
      'o/#',
      'o/#.br',
      'o/#.gz',
    ])
  })

  test(
    '400 publications with faults, kills and failovers show readers one whole set, never an older one',
    { timeout: 1_200_000 },
    async () => {
      const publications = 400
      const { proxy, database, direct, objects, start } = await place()
      const random = randomFrom(20_261_123)
      proxy.fail(() => {
        const drawn = random()
        if (drawn < 0.05) return 'refused'
        if (drawn < 0.1) return 'lost'
        return drawn < 0.11 ? 'twice' : drawn < 0.12 ? 'cut' : undefined
      })
      const replica = startReplica(database, objects)
      const seen = { documents: 0, version: 0, pointer: 0 }
      const readAll = async () => {
        const { version, pointer } = seen
        await replica.reload()
        const { manifest, problem, damaged } = replica.state()
        expect({ problem, damaged: damaged.size }).toEqual({ problem: null, damaged: 0 })
        expect(servedVersions(replica)).toHaveLength(1)
        expect(manifest?.version).toBeGreaterThanOrEqual(version)
        const read = await readBucket(direct, keys.publicKeys)
        expect(bucketVersions(read)).toHaveLength(1)
        expect(read.manifest.version).toBeGreaterThanOrEqual(pointer)
        seen.version = Math.max(seen.version, manifest?.version ?? 0)
        seen.pointer = Math.max(seen.pointer, read.manifest.version)
        seen.documents += (manifest?.count ?? 0) + read.bodies.size
      }
      const reading: Promise<void>[] = []
      /** A killed builder does nothing more. */
      const startMortal = async () => {
        const life = { steps: Infinity }
        const beforeStep = (step: string) => {
          life.steps -= 1
          if (life.steps < 0) throw new Error('killed')
          if ((step === 'record' || step === 'point') && seen.pointer > 0) reading.push(readAll())
        }
        return { ...(await start({ beforeStep })), life }
      }
      let builder = await startMortal()
      await builder.publish(smallWorld(0))
      await readAll()
      let killed = 0
      for (let version = 1; version <= publications; version += 1) {
        builder.life.steps = random() < 0.2 ? Math.floor(random() * 18) : Infinity
        try {
          await builder.publish(smallWorld(version), startMs + version)
        } catch (error) {
          if (!String(error).includes('killed')) throw error
          killed += 1
          builder = await startMortal()
        }
        await Promise.all(reading.splice(0))
      }
      builder.life.steps = Infinity
      await builder.publish(smallWorld(publications + 1), startMs + publications + 1)
      await Promise.all(reading)
      expect(killed).toBeGreaterThan(40)
      const [newest] = await expectChain(direct, database)
      const versions = await storedVersions(direct)
      expect(new Set(versions).size).toBe(versions.length)
      const last = await readBucket(direct, keys.publicKeys)
      expect(last.manifest.version).toBe(newest?.version)
      await replica.reload()
      expect(servedVersions(replica)).toEqual([publications + 1])
      expect(seen.documents).toBeGreaterThan(8_000)
    },
  )

  test('a publication killed at any step is continued, with a version that nobody has stored', async () => {
    const { database, direct, start } = await place()
    await (await start()).publish(smallWorld(0))
    const replica = startReplica(database, direct)
    let steps: string[] = []
    for (let [at, isKilled] = [0, true]; isKilled; at += 1) {
      const before = await readBucket(direct, keys.publicKeys)
      const taken: string[] = []
      steps = taken
      const beforeStep = (step: string) => {
        if (taken.length === at) throw new Error('killed')
        taken.push(step)
      }
      const killed = await start({ beforeStep })
      const publishing = killed.publish(smallWorld(2 * at + 1), startMs + 2 * at + 1)
      isKilled = await publishing.then(
        () => false,
        (error: unknown) => String(error).includes('killed'),
      )
      const [newest, older] = await latestPublications(database.reader, 2)
      const { manifest } = await readBucket(direct, keys.publicKeys)
      // The pointer follows the row, and never shows a set without a row.
      expect([newest?.version, older?.version]).toContain(manifest.version)
      expect(manifest.version).toBeGreaterThanOrEqual(before.manifest.version)
      await replica.reload()
      expect(replica.state()).toMatchObject({
        problem: null,
        manifest: { version: newest?.version },
      })
      expect(servedVersions(replica)).toEqual([taken.includes('record') ? 2 * at + 1 : 2 * at])

      const highest = Math.max(...(await storedVersions(direct)))
      const next = await start()
      const outcome = await next.publish(smallWorld(2 * at + 2), startMs + 2 * at + 2)
      expect(outcome.manifest.version).toBeGreaterThan(highest)
      expect(outcome.manifest.previous).toBe(newest?.manifestSha256)
      expect((await readBucket(direct, keys.publicKeys)).manifest).toEqual(outcome.manifest)
    }
    expect(steps.slice(-2)).toEqual(['record', 'point'])
    const released = await expectChain(direct, database)
    const logged = await database.reader.selectFrom('log_queue').select('entry_id').execute()
    expect(logged.map(({ entry_id: id }) => id)).toEqual(
      released.map(({ manifestSha256 }) => manifestSha256).toReversed(),
    )
  })

  test('a publication of a builder that was paused before its row changes nothing', async () => {
    const { proxy, database, direct, objects, start } = await place()
    const paused = await start()
    await paused.publish(smallWorld(1))
    const { arrived, release } = holdOnce(
      proxy,
      ({ method, key }) => method === 'PUT' && key.endsWith('/snapshot.json'),
    )
    const late = paused.publish(smallWorld(2), startMs + 2)
    await arrived
    const next = await startBuilder({ database, objects: direct, keys })
    const { manifest } = await next.publish(smallWorld(3), startMs + 3)
    release()
    await expect(late).rejects.toThrow(LeaseLostError)
    expect((await readBucket(direct, keys.publicKeys)).manifest).toEqual(manifest)
    const replica = startReplica(database, objects)
    await replica.reload()
    expect(servedVersions(replica)).toEqual([3])
  })

  test('a builder that was paused before it moved the pointer does not move it back', async () => {
    const { proxy, database, direct, start } = await place()
    const paused = await start()
    await paused.publish(smallWorld(1))
    const { arrived, release } = holdOnce(
      proxy,
      ({ method, key }) => method === 'PUT' && key === 'current.json',
    )
    const late = paused.publish(smallWorld(2), startMs + 2)
    await arrived
    const next = await startBuilder({ database, objects: direct, keys })
    const { manifest } = await next.publish(smallWorld(3), startMs + 3)
    release()
    await late
    expect((await readBucket(direct, keys.publicKeys)).manifest).toEqual(manifest)
  })

  test('publications by two builders at once leave one chain of sets, whichever has the lease', async () => {
    const { database, direct, start } = await place()
    let builder = await start()
    await builder.publish(smallWorld(0))
    for (let round = 1; round <= 20; round += 1) {
      const old = builder
      const [, next] = await Promise.all([
        old.publish(smallWorld(2 * round), startMs + 2 * round).catch(() => null),
        start(),
      ])
      await Promise.allSettled([
        old.publish(smallWorld(2 * round), startMs + 2 * round),
        next.publish(smallWorld(2 * round + 1), startMs + 2 * round + 1),
      ])
      const read = await readBucket(direct, keys.publicKeys)
      expect(bucketVersions(read)).toEqual([2 * round + 1])
      builder = next
    }
    await expectChain(direct, database)
  })

  test('a publication fails as a whole while the store fails; replicas keep the old set and say so', async () => {
    const { proxy, database, direct, objects, start } = await place(500)
    const builder = await start()
    await builder.publish(smallWorld(1))
    const replica = startReplica(database, objects)
    await replica.reload()
    proxy.fail(() => 'refused')
    await expect(builder.publish(smallWorld(2), startMs + 2)).rejects.toThrow(
      'object store answered',
    )
    const other = await startBuilder({ database, objects: direct, keys })
    await other.publish(smallWorld(3), startMs + 3)
    await replica.reload()
    expect(servedVersions(replica)).toEqual([1])
    expect(replica.state().problem).toBe('the object store answered 500 InternalError')
    const fresh = startReplica(database, objects)
    await fresh.reload()
    expect(fresh.state()).toMatchObject({ manifest: null, problem: replica.state().problem })
    proxy.fail(() => undefined)
    for (const each of [replica, fresh]) {
      await each.reload()
      expect(servedVersions(each)).toEqual([3])
      expect(each.state().problem).toBeNull()
    }
  })

  test('a replica fetches a body once, and stays at its set if the database loses rows', async () => {
    const { proxy, database, objects, start } = await place()
    const builder = await start()
    await builder.publish(smallWorld(1))
    const replica = startReplica(database, objects)
    await replica.reload()
    const before = proxy.requests.length
    await builder.publish(oneChanged)
    await replica.reload()
    const read = proxy.requests.slice(before).filter(({ method }) => method === 'GET')
    expect(read.filter(({ key }) => key.startsWith('o/'))).toHaveLength(3)
    await database.write((tx) => tx.deleteFrom('publications').where('version', '=', 2).execute())
    await replica.reload()
    expect(replica.state()).toMatchObject({ problem: null, manifest: { version: 2 } })
    // The store has files of the lost version, so that the next one is new to all readers.
    const next = await start()
    const { manifest } = await next.publish(oneChanged)
    expect(manifest.version).toBeGreaterThan(2)
    await replica.reload()
    expect(replica.state()).toMatchObject({ problem: null, manifest })
  })

  test('a store that ignores conditions gets no pointer, and the health report says so', async () => {
    const { proxy, database, direct, objects, start } = await place()
    proxy.fail(({ method }) => (method === 'PUT' ? 'unconditional' : undefined))
    const lines: string[] = []
    const log = { ...quietLog, warn: (line: string) => void lines.push(line) }
    const builder = await start({ log })
    const { manifest } = await builder.publish(smallWorld(1))
    await builder.publish(smallWorld(2), startMs + 2)
    expect(lines).toEqual(['the object store ignores conditions: it gets no current.json'])
    expect(await direct.get('current.json')).toBeNull()
    expect((await direct.list('probe/')).size).toBe(0)
    const replica = startReplica(database, objects)
    await replica.reload()
    expect(replica.state().manifest?.version).toBe(manifest.version + 1)
    expect(replica.source.problem?.()).toContain('ignores conditions')
  })

  test('a body that the store has lost is written again by the next builder', async () => {
    const { database, direct, start } = await place()
    const { manifest } = await (await start()).publish(smallWorld(1))
    const [lost] = manifest.documents
    await direct.remove(`o/${lost?.sha256}`)
    const replica = startReplica(database, direct)
    await replica.reload()
    expect(replica.state().problem).toBe(`${lost?.path} cannot be read`)
    await (await start()).publish(smallWorld(1), startMs + 1)
    await replica.reload()
    expect(replica.state().problem).toBeNull()
    expect((await readBucket(direct, keys.publicKeys)).manifest.count).toBe(manifest.count)
  })

  test('old sets, and bodies that no kept set names, are deleted', async () => {
    const { database, direct, start } = await place()
    /** Days that are taken from the age of objects that are present now. */
    const ages = new Map<string, number>()
    const age = async (days: number) => {
      for (const key of (await direct.list('')).keys()) ages.set(key, (ages.get(key) ?? 0) + days)
    }
    const objects = {
      ...direct,
      put: async (...put: Parameters<typeof direct.put>) => {
        const isWritten = await direct.put(...put)
        if (isWritten) ages.delete(put[0])
        return isWritten
      },
      list: async (prefix: string) => {
        const listed = [...(await direct.list(prefix))]
        return new Map(listed.map(([key, ms]) => [key, ms - (ages.get(key) ?? 0) * dayMs]))
      },
    }
    const builder = await start({ objects })
    const back = smallWorld(1)
    await builder.publish(back)
    await direct.put('o/0000', Buffer.from('never published'), {})
    await direct.put('g/1-9-unfinished/snapshot.json', Buffer.from('{}'), {})
    // More than the margin of an hour, so that only the two days and the oldest kept set protect.
    await age(1)
    for (let version = 2; version <= 70; version += 1) {
      if (version === 8) await age(0.5)
      await builder.publish(version === 40 ? back : smallWorld(version), startMs + version)
    }
    await builder.tidy()
    expect((await direct.list('g/')).size).toBe(70 * 4)
    expect(await direct.get('o/0000')).not.toBeNull()
    // All 70 sets are now older than two days, so that the newest 64 are kept.
    await age(2)
    await builder.publish(smallWorld(71), startMs + 71)
    // May belong to a publication in progress, since it is younger than the margin.
    const uploading = 'g/1-99-uploading'
    await direct.put(`${uploading}/snapshot.json`, Buffer.from('{}'), {})
    await builder.tidy()
    const rows = await latestPublications(database.reader, 1000)
    expect(rows.map(({ version }) => version)).toEqual(
      Array.from({ length: 64 }, (_, at) => 71 - at),
    )
    const stored = [...(await direct.list('g/')).keys()].map((key) => dirname(key))
    expect(new Set(stored)).toEqual(new Set([uploading, ...rows.map(({ location }) => location)]))
    const named = new Set<string>()
    for (const { location } of rows) {
      const manifest = await manifestAt(direct, location)
      for (const body of filesNamedIn(manifest)) named.add(bodyKey(body))
    }
    expect(new Set((await direct.list('o/')).keys())).toEqual(named)
    expect((await direct.list('facts/')).size).toBe(64)
    expect((await direct.list('probe/')).size).toBe(0)
  })
})
