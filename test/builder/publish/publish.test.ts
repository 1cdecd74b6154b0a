import { createHash } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'

import { archivedFiles } from '../../../builder/archive/last-facts.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { collectGarbage } from '../../../builder/publish/garbage.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import type { PublishOptions } from '../../../builder/publish/publish.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { rotateKey } from '../../../scripts/cli/admin/keys.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { verifyCurrency } from '../../../src/client/verify.ts'
import { canonicalize } from '../../../src/core/canonical-json.ts'
import { bodyKey, filesNamedIn, manifestSchema } from '../../../src/core/documents.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { LeaseLostError } from '../../../src/db/leases.ts'
import { latestPublications, newestPublication } from '../../../src/db/publications.ts'
import { gate } from '../../db/temp-database.ts'
import { quietLog } from '../../support/quiet-log.ts'
import {
  filesBelow,
  jsonDocument,
  readSet,
  startMs,
  textDocument,
  touches,
  versionsOf,
  useWorkspace,
  workspace,
  worldOf,
} from './set.ts'

const place = useWorkspace()

const current = () => join(place.publicDir, 'current')
const inCurrent = (file: string) => join(current(), file)

const documents = [jsonDocument('/api/v1/rails', { n: 1 })]
const another = 'https://another.test'

describe('a set of another SITE_URL', () => {
  test('a set of another SITE_URL is not overwritten', async () => {
    const { manifest } = await place.publish(documents)
    const publishing = place.publish(documents, { siteUrl: another })
    await expect(publishing).rejects.toThrow('belongs to https://ledger.test')
    expect(place.read().manifest).toEqual(manifest)
  })

  test('a set of another SITE_URL is overwritten on request, or if that was a loopback address', async () => {
    await place.publish(documents, { siteUrl: 'http://127.0.0.1:8787' })
    await place.publish(documents)
    await place.publish(documents, { siteUrl: another, move: true })
    expect(place.read().manifest.site_url).toBe(another)
  })
})

describe('a manifest', () => {
  test('a manifest has the next version, the hash of the one before, and the time when it expires', async () => {
    const { manifest: first } = await place.publish(documents)
    const bytes = readFileSync(inCurrent('snapshot.json'))
    const changed = [jsonDocument('/api/v1/rails', { n: 2 })]
    const { manifest } = await place.publish(changed, { nowMs: startMs + 1000 })
    expect(first).toMatchObject({ version: 1, previous: null })
    expect(manifest).toMatchObject({
      version: 2,
      previous: createHash('sha256').update(bytes).digest('hex'),
      expires: isoTime(startMs + 1000 + 2 * dayMs),
    })
  })

  test('a manifest is queued for the log by the transaction that makes it the current one', async () => {
    for (const n of [1, 2]) await place.publish([jsonDocument('/a', { n })], { nowMs: startMs + n })
    const publications = await latestPublications(place.database.reader, 9)
    const queued = await place.database.reader.selectFrom('log_queue').selectAll().execute()
    expect(queued.map(({ kind, sha256 }) => [kind, sha256])).toEqual(
      publications.map(({ manifestSha256 }) => ['snapshot', manifestSha256]).toReversed(),
    )
  })

  test('a manifest is renewed a day before it expires, with the same documents', async () => {
    const { manifest: first } = await place.publish(documents)
    const early = await place.publish(documents, { nowMs: startMs + dayMs - 1 })
    expect(early.manifest).toEqual(first)
    const { manifest, changed } = await place.publish(documents, { nowMs: startMs + dayMs })
    expect([manifest.version, manifest.documents, changed]).toEqual([2, first.documents, []])
  })
})

describe('a byte that changed since a publication', () => {
  test('a build repairs a byte that changed, and a new process also one in a file with its old time', async () => {
    const memory = emptyMemory()
    await place.publish(documents, { memory })
    await place.publish(documents, { memory })
    const file = join(current(), 'api/v1/rails.json')
    const { atime, mtime } = statSync(file)
    edit('api/v1/rails.json', '"n":1', '"n":2')
    await place.publish(documents, { memory, nowMs: startMs + 1000 })
    const text = () => place.read().bodies.get('/api/v1/rails')?.toString()
    expect(text()).toContain('"n":1')
    edit('api/v1/rails.json', '"n":1', '"n":2')
    utimesSync(file, atime, mtime)
    await place.publish(documents, { nowMs: startMs + 2000 })
    expect(text()).toContain('"n":1')
  })
})

describe('a deferred body', () => {
  const path = '/api/v1/rails/olas/history'
  const other = (n: number) => jsonDocument('/api/v1/rails', { n })
  let memory = emptyMemory()
  let calls = 0
  beforeEach(() => {
    memory = emptyMemory()
    calls = 0
  })
  const history = (polls: number): PublicDocument => ({
    ...jsonDocument(path, {}),
    body: {
      revision: `${polls} polls`,
      make: () => {
        calls += 1
        return { json: { polls }, stamp: 'computed_at' }
      },
    },
    archive: null,
  })
  /** Publishes at a time in minutes after the start; returns the number of calls of `make`. */
  async function publish(
    minutes: number,
    documents: readonly PublicDocument[],
    more: Partial<PublishOptions> = {},
  ): Promise<number> {
    const before = calls
    await place.publish(documents, { memory, nowMs: startMs + minutes * 60_000, ...more })
    return calls - before
  }
  const published = (): unknown => JSON.parse(place.read().bodies.get(path)?.toString() ?? 'null')

  test('a deferred body with a published revision is not rendered again', async () => {
    expect(await publish(0, [history(1)])).toBe(1)
    const before = touches(place.publicDir)
    expect(await publish(1, [history(1)])).toBe(0)
    expect(touches(place.publicDir)).toEqual(before)
  })

  test('a deferred body stays published with its time when another document changes', async () => {
    await publish(0, [history(1), other(1)])
    expect(await publish(1, [history(1), other(2)])).toBe(0)
    expect(published()).toEqual({ computed_at: '2026-11-21T06:00:00.000Z', polls: 1 })
  })

  test('a deferred body with a new revision is rendered and published', async () => {
    await publish(0, [history(1)])
    expect(await publish(1, [history(2)])).toBeGreaterThan(0)
    expect(published()).toEqual({ computed_at: '2026-11-21T06:01:00.000Z', polls: 2 })
  })

  test('a deferred body is rendered once by a new process', async () => {
    await publish(0, [history(1)])
    memory = emptyMemory()
    expect(await publish(1, [history(1)])).toBe(1)
    expect(await publish(1, [history(1)])).toBe(0)
  })

  test('a deferred body is rendered again when another process published a different one', async () => {
    await publish(0, [history(1)])
    await publish(0.5, [history(2)], { memory: emptyMemory() })
    expect(await publish(1, [history(1)])).toBeGreaterThan(0)
    expect(published()).toMatchObject({ polls: 1 })
  })

  test('a deferred body is rendered again after a build died before its row', async () => {
    await publish(0, [history(1)])
    const beforeStep = (step: string) => {
      if (step === 'record') throw new Error('died')
    }
    await expect(publish(1, [history(2)], { beforeStep })).rejects.toThrow('died')
    await publish(2, [history(2)])
    expect(published()).toEqual({ computed_at: '2026-11-21T06:02:00.000Z', polls: 2 })
  })
})

describe('a build', () => {
  test('a build publishes canonical JSON with the time of its facts, which public keys alone verify', async () => {
    const published = await place.publish([jsonDocument('/api/v1/rails', { b: 1, a: [2, 'é'] })])

    expect(published).toMatchObject({ changed: ['/api/v1/rails'], unchanged: 0 })
    expect(readFileSync(inCurrent('api/v1/rails.json'), 'utf8')).toBe(
      '{"a":[2,"é"],"b":1,"computed_at":"2026-11-21T06:00:00.000Z"}',
    )
    const { manifest } = place.read()
    expect(canonicalize(manifest)).toBe(readFileSync(inCurrent('snapshot.json'), 'utf8'))
  })

  test('a build compresses only documents that get smaller', async () => {
    const png = Buffer.from('89504e470d0a1a0a', 'hex')
    await place.publish([
      jsonDocument('/long', { text: 'a line that repeats '.repeat(50) }),
      jsonDocument('/short', { text: 'x' }),
      { ...textDocument('/a.png', 'image/png', ''), body: { bytes: Buffer.alloc(4000, png) } },
    ])
    expect(filesBelow(realpathSync(current()))).toEqual([
      'a.png',
      'long.json',
      'long.json.br',
      'long.json.gz',
      'short.json',
      'snapshot.json',
      'snapshot.json.br',
      'snapshot.json.gz',
      'snapshot.json.sig',
    ])
    place.read()
  })

  test('a later build of the same world changes no file and makes no set', async () => {
    const memory = emptyMemory()
    await place.publish(worldOf(1), { memory })
    const before = touches(place.publicDir)

    const again = await place.publish(worldOf(1), { memory, nowMs: startMs + 60_000 })

    expect(again).toMatchObject({
      manifest: { version: 1 },
      changed: [],
      removed: [],
      unchanged: 16,
    })
    expect(touches(place.publicDir)).toEqual(before)
  })

  test('a build of the same world gives the same bytes on another machine', async () => {
    const other = await workspace()
    await place.publish(worldOf(1))
    await other.publish(worldOf(1).reverse())
    const here = place.read()
    const there = other.read()
    await other.remove()
    expect(there.bodies).toEqual(here.bodies)
    expect(there.manifest.set_sha256).toBe(here.manifest.set_sha256)
  })

  test('an unchanged document keeps its inode, file time and changed_at in the next build', async () => {
    const steady = jsonDocument('/api/v1/rails/steady', { figures: 'x'.repeat(1200) })
    await place.publish([steady, jsonDocument('/api/v1/rails', { n: 1 })])
    const old = statSync(inCurrent('api/v1/rails/steady.json.br'))

    const next = await place.publish([steady, jsonDocument('/api/v1/rails', { n: 2 })], {
      nowMs: startMs + 60_000,
    })

    expect(next).toMatchObject({
      manifest: { version: 2 },
      changed: ['/api/v1/rails'],
      unchanged: 1,
    })
    const unchanged = statSync(inCurrent('api/v1/rails/steady.json.br'))
    expect([unchanged.ino, unchanged.mtimeMs]).toEqual([old.ino, old.mtimeMs])
    expect(next.manifest.documents.map((entry) => [entry.path, entry.changed_at])).toEqual([
      ['/api/v1/rails', '2026-11-21T06:01:00.000Z'],
      ['/api/v1/rails/steady', '2026-11-21T06:00:00.000Z'],
    ])
    place.read()
  })

  test('a build reports documents that are no longer published', async () => {
    await place.publish(worldOf(1, 3))
    const next = await place.publish(worldOf(1, 2), { nowMs: startMs + 1000 })
    expect(next.removed).toEqual(['/api/v1/rails/rail-2'])
    expect(place.read().bodies.has('/api/v1/rails/rail-2')).toBe(false)
  })

  test('a build notices a new max-age without touching the bytes', async () => {
    const document = jsonDocument('/api/v1/rails', { n: 1 })
    await place.publish([document])
    const { ino } = statSync(inCurrent('api/v1/rails.json'))
    const next = await place.publish([{ ...document, maxAgeSeconds: 5 }], { nowMs: startMs + 1000 })
    expect(next).toMatchObject({ manifest: { version: 2 }, changed: [], unchanged: 1 })
    expect(next.manifest.documents[0]).toMatchObject({ max_age: 5 })
    expect(statSync(inCurrent('api/v1/rails.json')).ino).toBe(ino)
  })

  test('a build publishes authored assets, and ignores unknown files of the public directory', async () => {
    const assetsDir = join(place.publicDir, '../static')
    mkdirSync(join(assetsDir, 'fonts'), { recursive: true })
    writeFileSync(join(assetsDir, 'fonts/inter.woff2'), 'font')
    writeFileSync(join(assetsDir, '.DS_Store'), '')
    mkdirSync(join(place.publicDir, 'log'), { recursive: true })
    for (const file of ['log/checkpoint', 'core.1234', 'CNAME']) {
      writeFileSync(join(place.publicDir, file), '')
    }
    await place.publish(worldOf(1, 1), { assetsDir })
    const again = await place.publish(worldOf(1, 1), { assetsDir, nowMs: startMs + 1000 })
    expect(again).toMatchObject({ manifest: { version: 1 }, changed: [] })
    const { manifest } = place.read()
    expect(manifest.documents.map((entry) => entry.path)).toEqual([
      '/.well-known/oaths.json',
      '/api/v1/rails',
      '/api/v1/rails.csv',
      '/api/v1/rails/rail-0',
      '/desk/SKILL.md',
      '/fonts/inter.woff2',
    ])
  })

  test('a build rejects two documents with one file name, and reserved names', async () => {
    const twice = [jsonDocument('/a', {}), jsonDocument('/a.json', {})]
    await expect(place.publish(twice)).rejects.toThrow(
      '/a.json and /a would both have the file a.json',
    )
    for (const path of ['/snapshot.json', '/a.gz', '/../a', '/a//b', '/%2e', '/.git/config', 'a']) {
      await expect(place.publish([jsonDocument(path, {})])).rejects.toThrow(path)
    }
    expect(await newestPublication(place.database.reader)).toBeNull()
  })
})

describe('keys', () => {
  test('after a key rotation old signatures stay valid, and changed documents get the new key', async () => {
    const documents = (n: number) => [jsonDocument('/a', { n: 1 }), jsonDocument('/b', { n })]
    const memory = emptyMemory()
    await place.publish(documents(1), { memory })
    const before = touches(place.publicDir)
    const rotated = await rotateKey({ dir: place.keysDir, nowMs: startMs + 1000 })
    const { signer, ring } = rotated

    await place.publish(documents(1), { signer, ring, memory })
    expect(touches(place.publicDir)).toEqual(before)

    const later = { signer, ring, nowMs: startMs + 2000 }
    const { manifest } = await place.publish(documents(2), later)
    expect(manifest.documents.map((entry) => entry.kid)).toEqual([
      place.keys.signer.kid,
      rotated.signer.kid,
    ])
    readSet(place.publicDir, rotated.publicKeys)
  })

  test('after a loss of keys the new key signs everything again without changing a body', async () => {
    await place.publish(worldOf(1))
    const { ino } = statSync(inCurrent('api/v1/rails.json'))
    const fresh = await loadKeys({ dir: join(place.root, 'other-keys'), nowMs: startMs })
    const { signer, ring } = fresh
    const warnings: string[] = []
    const log = { ...quietLog, warn: (text: string) => void warnings.push(text) }
    const next = await place.publish(worldOf(1), { signer, ring, log, nowMs: startMs + 1000 })
    expect(next).toMatchObject({ manifest: { version: 2 }, changed: [], unchanged: 16 })
    expect(warnings).toHaveLength(1)
    readSet(place.publicDir, fresh.publicKeys)
    expect(statSync(inCurrent('api/v1/rails.json')).ino).toBe(ino)
  })
})

test('a set after the loss of the newest rows, files or entries has a version that no reader has seen', async () => {
  const first = await place.publish(worldOf(1), { lastVersion: 7 })
  expect(first.manifest.version).toBeGreaterThan(8)
  const second = await place.publish(worldOf(2), { lastVersion: 7, nowMs: startMs + 1000 })
  expect(second.manifest.version).toBe(first.manifest.version + 1)
  const { version } = second.manifest
  await place.database.write((tx) =>
    tx.deleteFrom('publications').where('version', '=', version).execute(),
  )
  // The same documents as in the set of the newest row.
  const third = await place.publish(worldOf(1), { nowMs: startMs + 2000 })
  expect(third.manifest.version).toBe(version + 2)
  const lastVersion = version + 5
  const fourth = await place.publish(worldOf(4), { lastVersion, nowMs: startMs + 3000 })
  expect(fourth.manifest.version).toBeGreaterThan(lastVersion + 1)
})

test('a set after the loss of all rows keeps the times of documents that have not changed', async () => {
  const steady = jsonDocument('/steady', { n: 1 })
  await place.publish([steady, jsonDocument('/a', { n: 1 })])
  await place.database.write((tx) => tx.deleteFrom('publications').execute())
  const next = [steady, jsonDocument('/a', { n: 2 })]
  const { manifest, changed } = await place.publish(next, { nowMs: startMs + 1000 })
  expect([changed, manifest.version]).toEqual([['/a'], 3])
  expect(manifest.documents.map((entry) => entry.changed_at)).toEqual([
    isoTime(startMs + 1000),
    isoTime(startMs),
  ])
})

describe('a damaged set', () => {
  const damages: [string, () => void | Promise<void>][] = [
    ['a truncated manifest', async () => truncateSync(await manifestFile(), 100)],
    ['an empty manifest', async () => truncateSync(await manifestFile(), 0)],
    ['no manifest', async () => unlinkSync(await manifestFile())],
    ['no signature', async () => unlinkSync(`${await manifestFile()}.sig`)],
    ['an edited manifest', () => edit('snapshot.json', '"max_age":60', '"max_age":61')],
    ['no files', () => rmSync(place.publicDir, { recursive: true })],
  ]

  test.each(damages)('a builder that finds %s publishes a newer set', async (_, damage) => {
    const [first, second] = [worldOf(1), worldOf(2)]
    await place.publish(first)
    const { manifest } = await place.publish(second, { nowMs: startMs + 1000 })
    const before = await newestPublication(place.database.reader)
    await damage()
    const store = place.startStore()
    const next = await place.publish(second, { store, nowMs: startMs + 2000 })
    expect(next.manifest.version).toBeGreaterThan(manifest.version)
    expect(next.manifest.previous).toBe(before?.manifestSha256)
    expect(versionsOf(place.read())).toEqual([2])
    const seen = { version: manifest.version, sha256: before?.manifestSha256 ?? '' }
    const bytes = readFileSync(inCurrent('snapshot.json'))
    const { checks } = verifyCurrency(bytes, next.manifest, { nowMs: startMs + 2000, seen })
    expect(checks.map(({ good }) => good)).toEqual([true, true])
    const again = await place.publish(second, { store, nowMs: startMs + 3000 })
    expect(again.manifest).toEqual(next.manifest)
  })

  async function manifestFile(): Promise<string> {
    const newest = await newestPublication(place.database.reader)
    return join(place.publicDir, newest?.location ?? '', 'snapshot.json')
  }
})

describe('the files of the current set by path', () => {
  const damages: [string, () => void][] = [
    ['a missing link', () => unlinkSync(current())],
    ['a link that points nowhere', () => relink('views/9/a')],
    ['a link out of the directory', () => relink('../elsewhere')],
    ['a missing directory', () => rmSync(realpathSync(current()), { recursive: true })],
  ]

  test.each(damages)('a builder that finds %s links the files by path again', async (_, damage) => {
    const { manifest } = await place.publish(worldOf(1))
    damage()
    await place.publish(worldOf(1), { store: place.startStore(), nowMs: startMs + 1000 })
    expect(place.read().manifest).toEqual(manifest)
  })

  test('files by path follow each publication of one process, alternately in two directories', async () => {
    const memory = emptyMemory()
    const store = place.startStore()
    const targets = new Set<string>()
    for (let version = 1; version <= 5; version += 1) {
      const world = worldOf(version, 1 + (version % 3))
      await place.publish(world, { store, memory, nowMs: startMs + version * 1000 })
      expect(versionsOf(place.read())).toEqual([version])
      targets.add(readlinkSync(current()))
    }
    expect([...targets]).toEqual(['views/1/a', 'views/1/b'])
  })

  test('files by path are linked to repaired bytes in both directories', async () => {
    const memory = emptyMemory()
    const store = place.startStore()
    const more = { store, memory }
    for (const n of [1, 2]) {
      await place.publish([...worldOf(1), jsonDocument('/n', { version: 1, n })], {
        ...more,
        nowMs: startMs + n,
      })
    }
    flip('api/v1/rails.json')
    for (const n of [3, 4, 5]) {
      await place.publish([...worldOf(1), jsonDocument('/n', { version: 1, n })], {
        ...more,
        nowMs: startMs + n,
      })
      expect(versionsOf(place.read())).toEqual([1])
    }
  })

  test('all files are written again by the publication after the one that missed them', async () => {
    const store = place.startStore()
    await place.publish(worldOf(1), { store })
    rmSync(place.publicDir, { recursive: true })
    const next = place.publish(worldOf(2), { store, nowMs: startMs + 1000 })
    await expect(next).rejects.toThrow('ENOENT')
    await place.publish(worldOf(2), { store, nowMs: startMs + 2000 })
    expect(versionsOf(place.read())).toEqual([2])
  })

  test('files by path replace those of earlier leaders, whatever is left of them', async () => {
    for (const name of ['2', 'old-2', 'old-1', '9']) {
      mkdirSync(join(place.publicDir, 'views', name, 'a'), { recursive: true })
    }
    const leader = (fence: number) => {
      const check = () => Promise.resolve()
      return { store: createDirectory({ publicDir: place.publicDir, fence, check }) }
    }
    await place.publish(worldOf(1), leader(3))
    await place.publish(worldOf(2), { ...leader(4), nowMs: startMs + 1000 })
    await place.publish(worldOf(3), { ...leader(5), nowMs: startMs + 2000 })
    expect(versionsOf(place.read())).toEqual([3])
    const left = readdirSync(join(place.publicDir, 'views')).sort()
    expect(left).toEqual(['5', '9', 'old-4'])
  })

  test('files by path are copied where the file system refuses links', async () => {
    // A link to a file of another file system is refused.
    const other = mkdtempSync('/dev/shm/bodies-')
    onTestFinished(() => rmSync(other, { recursive: true }))
    mkdirSync(place.publicDir, { recursive: true })
    symlinkSync(other, join(place.publicDir, 'o'))
    await place.publish(worldOf(1))
    expect(versionsOf(place.read())).toEqual([1])
  })
})

function relink(target: string) {
  unlinkSync(current())
  symlinkSync(target, current())
  expect(lstatSync(current()).isSymbolicLink()).toBe(true)
}

describe('damaged files of documents', () => {
  const damages: [string, () => void][] = [
    ['an edited document', () => edit('api/v1/rails.json', '"version":1', '"version":7')],
    ['a missing document', () => unlinkSync(bodyOf('/api/v1/rails'))],
    ['a flipped bit in a compressed form', () => flip('api/v1/rails.json.br')],
  ]

  test.each(damages)('a builder repairs %s in a new file with the old time', async (_, damage) => {
    const { manifest } = await place.publish(worldOf(1))
    damage()
    const logged: string[] = []
    const log = { ...quietLog, error: (text: string) => void logged.push(text) }
    const next = await place.publish(worldOf(1), { nowMs: startMs + 1000, log })
    expect(next).toMatchObject({ manifest: { version: 2 }, changed: [] })
    expect(logged).toEqual(['the files of published documents were damaged and are written again'])
    expect(place.read().manifest.documents).toEqual(manifest.documents)
    const again = await place.publish(worldOf(1), { nowMs: startMs + 2000 })
    expect(again.manifest.version).toBe(2)
  })

  test.each(damages)('after %s a builder writes the new body', async (_, damage) => {
    await place.publish(worldOf(1))
    damage()
    await place.publish(worldOf(2), { nowMs: startMs + 1000 })
    expect(versionsOf(place.read())).toEqual([2])
  })

  function bodyOf(path: string): string {
    const entry = place.read().manifest.documents.find((one) => one.path === path)
    return join(place.publicDir, 'o', entry?.sha256 ?? '')
  }
})

function edit(file: string, from: string, to: string) {
  const text = readFileSync(inCurrent(file), 'utf8')
  expect(text).toContain(from)
  writeFileSync(inCurrent(file), text.replace(from, to))
}

function flip(file: string) {
  const bytes = readFileSync(inCurrent(file))
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40)
  writeFileSync(inCurrent(file), bytes)
}

test('a builder that was paused before it shows its set changes nothing after another has published', async () => {
  await place.publish(worldOf(1))
  const [arrived, resumed] = [gate(), gate()]
  const check = async () => {
    arrived.open()
    await resumed.opened
  }
  const slow = createDirectory({ publicDir: place.publicDir, fence: 2, check })
  const paused = place.publish(worldOf(2), { store: slow, nowMs: startMs + 1000 })
  await arrived.opened
  const next = createDirectory({
    publicDir: place.publicDir,
    fence: 3,
    check: () => Promise.resolve(),
  })
  const { manifest } = await place.publish(worldOf(3), {
    store: next,
    nowMs: startMs + 2000,
  })
  resumed.open()
  await expect(paused).rejects.toThrow('ENOENT')
  expect(place.read().manifest).toEqual(manifest)
  expect(versionsOf(place.read())).toEqual([3])
})

test('a builder without its lease publishes nothing', async () => {
  await place.publish(worldOf(1))
  const database = { ...place.database, write: () => Promise.reject(new LeaseLostError('lost')) }
  await expect(place.publish(worldOf(2), { database })).rejects.toThrow(LeaseLostError)
  expect(versionsOf(place.read())).toEqual([1])
})

test('old sets, and bodies that no kept set names, are deleted from a directory', async () => {
  const store = place.startStore()
  const memory = emptyMemory()
  for (let version = 1; version <= 7; version += 1) {
    const world = version === 6 ? worldOf(1) : worldOf(version)
    await place.publish(world, { store, memory, nowMs: startMs + version * 1000 })
  }
  const now = { ...store, keeps: { ...store.keeps, ageMs: 0 } }
  await collectGarbage(now, place.database, () => Promise.resolve())
  const publications = await latestPublications(place.database.reader, 100)
  expect(publications.map(({ version }) => version)).toEqual([7, 6, 5, 4])
  expect(readdirSync(join(place.publicDir, 'g'))).toHaveLength(4)
  const named = new Set<string>()
  for (const { location } of publications) {
    const text = readFileSync(join(place.publicDir, location, 'snapshot.json'), 'utf8')
    const { documents } = manifestSchema.parse(JSON.parse(text))
    for (const body of filesNamedIn({ documents })) named.add(bodyKey(body))
  }
  expect(new Set((await store.list('o/')).keys())).toEqual(named)
  expect(versionsOf(place.read())).toEqual([7])
})

test('the archive contains facts with sorted keys, one per line, without volatile members', () => {
  const files = archivedFiles([
    { ...jsonDocument('/api/v1/rails', { b: 1, polled_at: 'now' }), archive: { b: 1, a: 2 } },
    textDocument('/desk/SKILL.md', 'text/markdown; charset=utf-8', '# Desk\n'),
    { ...jsonDocument('/api/v1/health', {}), archive: null },
  ])
  expect([...files]).toEqual([
    ['api/v1/rails.json', '{\n  "a": 2,\n  "b": 1\n}\n'],
    ['desk/SKILL.md', '# Desk\n'],
  ])
})
