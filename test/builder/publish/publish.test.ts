import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import * as noble from '@noble/ed25519'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { archiveFiles } from '../../../builder/publish/document.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { loadKeys, rotateKey } from '../../../builder/publish/keys.ts'
import { LockedError } from '../../../builder/publish/lock.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import { DamagedGenerationError } from '../../../builder/publish/published-generation.ts'
import { canonicalize } from '../../../src/core/canonical-json.ts'
import {
  filesBelow,
  generationNames,
  jsonDocument,
  readSet,
  startMs,
  textDocument,
  touches,
  versionsOf,
  workspace,
  worldOf,
} from './set.ts'
import type { Workspace } from './set.ts'

let place: Workspace

beforeEach(async () => {
  place = await workspace()
})
afterEach(() => place.remove())

const current = () => join(place.publicDir, 'current')
const inCurrent = (file: string) => join(current(), file)

/** A history of so many polls, and how often its body was made. */
function deferredHistory() {
  const path = '/api/v1/rails/olas/history'
  let made = 0
  const of = (polls: number): PublicDocument => ({
    path,
    contentType: 'application/json',
    maxAgeSeconds: 60,
    body: {
      revision: `${polls} polls`,
      make: () => {
        made += 1
        return { json: { polls }, stamp: 'computed_at' }
      },
    },
    archive: null,
  })
  const madeBy = async (work: () => Promise<unknown>) => {
    made = 0
    await work()
    return made
  }
  return { path, of, madeBy }
}

describe('the memory of a process about its published set', () => {
  test('does not hide a changed byte, even with the same size and time', async () => {
    const memory = emptyMemory()
    const documents = [jsonDocument('/api/v1/rails', { n: 1 })]
    await place.publish(documents, { memory })
    await place.publish(documents, { memory })
    const file = join(current(), 'api/v1/rails.json')
    const { atime, mtime } = statSync(file)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"n":1', '"n":2'))
    utimesSync(file, atime, mtime)
    await expect(place.publish(documents, { memory })).rejects.toThrow(DamagedGenerationError)
  })

  test('reuses rendered documents when others are published with them', async () => {
    const memory = emptyMemory()
    let read = 0
    const counted: PublicDocument = {
      ...jsonDocument('/api/v1/rails', {}),
      body: {
        get json() {
          read += 1
          return { n: 1 }
        },
        stamp: 'computed_at',
      },
    }
    await place.publish([counted], { memory })
    const once = read
    await place.publish([counted, jsonDocument('/api/v1/skills', { n: 1 })], { memory })
    expect(once).toBeGreaterThan(0)
    expect(read).toBe(once)
  })

  test('contains nothing of removed documents and assets', async () => {
    const memory = emptyMemory()
    const assetsDir = join(place.root, 'assets')
    const page = (n: number): PublicDocument => ({
      path: `/receipts/${n}`,
      contentType: 'text/html; charset=utf-8',
      maxAgeSeconds: 60,
      body: { revision: `${n}`, make: () => ({ text: `Receipt ${n}` }) },
      archive: null,
    })
    mkdirSync(assetsDir)
    for (let n = 0; n < 9; n += 1) {
      rmSync(join(assetsDir, `${n - 1}.txt`), { force: true })
      writeFileSync(join(assetsDir, `${n}.txt`), 'An asset.')
      await place.publish([page(n), page(n + 1)], { memory, assetsDir, nowMs: startMs + n })
    }
    expect([...memory.rendered.revisions.keys()].toSorted()).toEqual(['/receipts/8', '/receipts/9'])
    expect([...memory.checked.keys()].toSorted()).toEqual([
      '8.txt',
      'receipts/8.html',
      'receipts/9.html',
    ])
    expect([...memory.assets.keys()]).toEqual(['8.txt'])
    expect(memory.records.size).toBe(4)
    const touched = [...memory.records.values()].flatMap((made) => [...made.touched])
    expect(touched.filter((file) => file.startsWith('receipts/')).length).toBeLessThanOrEqual(8)
  })
})

describe('a deferred body', () => {
  let memory = emptyMemory()
  const at = (minutes: number) => ({ memory, nowMs: startMs + minutes * 60_000 })
  const { path, of, madeBy } = deferredHistory()
  const bodies = () => readSet(place.publicDir, place.keys.publicKeys).bodies
  const shown = (): unknown => JSON.parse(bodies().get(path)?.toString() ?? 'null')

  beforeEach(() => {
    memory = emptyMemory()
  })

  test('with a published revision is not made', async () => {
    expect(await madeBy(async () => place.publish([of(1)], at(0)))).toBe(1)
    const before = touches(place.publicDir)
    expect(await madeBy(async () => place.publish([of(1)], at(1)))).toBe(0)
    expect(touches(place.publicDir)).toEqual(before)
  })

  test('stays published with its time when another document changes', async () => {
    await place.publish([of(1), jsonDocument('/api/v1/rails', { n: 1 })], at(0))
    const next = [of(1), jsonDocument('/api/v1/rails', { n: 2 })]
    expect(await madeBy(async () => place.publish(next, at(1)))).toBe(0)
    expect(shown()).toEqual({ computed_at: '2026-11-21T06:00:00.000Z', polls: 1 })
  })

  test('with a new revision is made and published', async () => {
    await place.publish([of(1)], at(0))
    expect(await madeBy(async () => place.publish([of(2)], at(1)))).toBeGreaterThan(0)
    expect(shown()).toEqual({ computed_at: '2026-11-21T06:01:00.000Z', polls: 2 })
  })

  test('is made by a process that has not made it before', async () => {
    await place.publish([of(1)], at(0))
    const fresh = { ...at(1), memory: emptyMemory() }
    expect(await madeBy(async () => place.publish([of(1)], fresh))).toBe(1)
    expect(await madeBy(async () => place.publish([of(1)], fresh))).toBe(0)
  })

  test('is made again when the published bytes are not those of this process', async () => {
    await place.publish([of(1)], at(0))
    await place.publish([of(2)], { nowMs: startMs + 1 })
    expect(await madeBy(async () => place.publish([of(1)], at(1)))).toBeGreaterThan(0)
    expect(shown()).toMatchObject({ polls: 1 })
  })

  test('is made again after a build died before its switch', async () => {
    await place.publish([of(1)], at(0))
    const died = place.publish([of(2)], {
      ...at(1),
      beforeStep: (step) => {
        if (step === 'switch') throw new Error('died')
      },
    })
    await expect(died).rejects.toThrow('died')
    await place.publish([of(2)], at(2))
    expect(shown()).toEqual({ computed_at: '2026-11-21T06:02:00.000Z', polls: 2 })
  })

  test('is made again to be signed by a new key', async () => {
    await place.publish([of(1)], at(0))
    const keys = await loadKeys({ dir: join(place.root, 'other-keys'), nowMs: startMs })
    const { signer, ring } = keys
    expect(await madeBy(async () => place.publish([of(1)], { ...at(1), signer, ring }))).toBe(1)
    readSet(place.publicDir, keys.publicKeys)
  })
})

describe('a build', () => {
  test('publishes canonical JSON with the time of its facts, verifiable with the public keys alone', async () => {
    const published = await place.publish([jsonDocument('/api/v1/rails', { b: 1, a: [2, 'é'] })])

    expect(published).toMatchObject({ generation: 1, changed: ['/api/v1/rails'], unchanged: 0 })
    expect(readFileSync(inCurrent('api/v1/rails.json'), 'utf8')).toBe(
      '{"a":[2,"é"],"b":1,"computed_at":"2026-11-21T06:00:00.000Z"}',
    )
    expect(readlinkSync(current())).toBe('generations/00000001')
    const { manifest } = readSet(place.publicDir, place.keys.publicKeys)
    expect(canonicalize(manifest)).toBe(readFileSync(inCurrent('snapshot.json'), 'utf8'))
  })

  test('makes signatures that another ed25519 implementation accepts', async () => {
    const { manifest } = await place.publish(worldOf(1))
    const [key] = place.keys.publicKeys.keys
    for (const entry of manifest.documents) {
      const good = await noble.verifyAsync(
        Buffer.from(entry.signature, 'base64'),
        readFileSync(inCurrent(entry.file)),
        Buffer.from(key?.public_key ?? '', 'base64'),
      )
      expect(good).toBe(true)
    }
  })

  test('compresses only what gets smaller', async () => {
    const png = Buffer.from('89504e470d0a1a0a', 'hex')
    await place.publish([
      jsonDocument('/long', { text: 'a line that repeats '.repeat(50) }),
      jsonDocument('/short', { text: 'x' }),
      { ...textDocument('/a.png', 'image/png', ''), body: { bytes: Buffer.alloc(4000, png) } },
    ])
    expect(filesBelow(join(place.publicDir, readlinkSync(current())))).toEqual([
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
    readSet(place.publicDir, place.keys.publicKeys)
  })

  test('of the same world at a later time changes no file and makes no generation', async () => {
    await place.publish(worldOf(1))
    const before = touches(place.publicDir)

    const again = await place.publish(worldOf(1), { nowMs: startMs + 60_000 })

    expect(again).toMatchObject({ generation: 1, changed: [], removed: [], unchanged: 16 })
    expect(touches(place.publicDir)).toEqual(before)
  })

  test('of the same world gives the same bytes on another machine', async () => {
    const other = await workspace()
    await place.publish(worldOf(1))
    await other.publish(worldOf(1).reverse())
    const here = readSet(place.publicDir, place.keys.publicKeys)
    const there = readSet(other.publicDir, other.keys.publicKeys)
    other.remove()
    expect(there.bodies).toEqual(here.bodies)
    expect(there.manifest.set_sha256).toBe(here.manifest.set_sha256)
  })

  test('keeps inode, time and stamp of unchanged documents', async () => {
    const steady = jsonDocument('/api/v1/rails/steady', { figures: 'x'.repeat(1200) })
    await place.publish([steady, jsonDocument('/api/v1/rails', { n: 1 })])
    const old = statSync(inCurrent('api/v1/rails/steady.json.br'))

    const next = await place.publish([steady, jsonDocument('/api/v1/rails', { n: 2 })], {
      nowMs: startMs + 60_000,
    })

    expect(next).toMatchObject({ generation: 2, changed: ['/api/v1/rails'], unchanged: 1 })
    const kept = statSync(inCurrent('api/v1/rails/steady.json.br'))
    expect([kept.ino, kept.mtimeMs]).toEqual([old.ino, old.mtimeMs])
    expect(next.manifest.documents.map((entry) => [entry.path, entry.changed_at])).toEqual([
      ['/api/v1/rails', '2026-11-21T06:01:00.000Z'],
      ['/api/v1/rails/steady', '2026-11-21T06:00:00.000Z'],
    ])
    readSet(place.publicDir, place.keys.publicKeys)
  })

  test('dates files by the time of the build, so that a web server sends the right Last-Modified', async () => {
    await place.publish(worldOf(1))
    expect(statSync(inCurrent('api/v1/rails.json')).mtimeMs).toBe(startMs)
  })

  test('reports documents that are no longer published', async () => {
    await place.publish(worldOf(1, 3))
    const next = await place.publish(worldOf(1, 2), { nowMs: startMs + 1000 })
    expect(next.removed).toEqual(['/api/v1/rails/rail-2'])
    expect(readSet(place.publicDir, place.keys.publicKeys).bodies.has('/api/v1/rails/rail-2')).toBe(
      false,
    )
  })

  test('notices a new max-age without touching the bytes', async () => {
    const document = jsonDocument('/api/v1/rails', { n: 1 })
    await place.publish([document])
    const { ino } = statSync(inCurrent('api/v1/rails.json'))
    const next = await place.publish([{ ...document, maxAgeSeconds: 5 }], { nowMs: startMs + 1000 })
    expect(next).toMatchObject({ generation: 2, changed: [], unchanged: 1 })
    expect(next.manifest.documents[0]).toMatchObject({ max_age: 5 })
    expect(statSync(inCurrent('api/v1/rails.json')).ino).toBe(ino)
  })

  test('keeps four generations', async () => {
    for (let version = 1; version <= 6; version += 1) {
      await place.publish(worldOf(version), { nowMs: startMs + version })
    }
    expect(generationNames(place.publicDir)).toEqual([
      '00000003',
      '00000004',
      '00000005',
      '00000006',
    ])
    expect(readlinkSync(current())).toBe('generations/00000006')
  })

  test('publishes hand-made assets, also from the public directory itself', async () => {
    mkdirSync(join(place.publicDir, 'fonts'), { recursive: true })
    writeFileSync(join(place.publicDir, 'fonts/inter.woff2'), 'font')
    writeFileSync(join(place.publicDir, 'index.html'), '<!doctype html>')
    writeFileSync(join(place.publicDir, '.gitkeep'), '')
    const assetsDir = place.publicDir
    await place.publish(worldOf(1, 1), { assetsDir })
    const again = await place.publish(worldOf(1, 1), { assetsDir, nowMs: startMs + 1000 })
    expect(again).toMatchObject({ generation: 1, changed: [] })
    const { manifest } = readSet(place.publicDir, place.keys.publicKeys)
    expect(manifest.documents.map((entry) => entry.path)).toEqual([
      '/',
      '/.well-known/oaths.json',
      '/api/v1/rails',
      '/api/v1/rails.csv',
      '/api/v1/rails/rail-0',
      '/desk/SKILL.md',
      '/fonts/inter.woff2',
    ])
  })

  test('rejects two documents with one file name, and reserved names', async () => {
    const twice = [jsonDocument('/a', {}), jsonDocument('/a.json', {})]
    await expect(place.publish(twice)).rejects.toThrow(
      '/a.json and /a would both be the file a.json',
    )
    for (const path of ['/snapshot.json', '/a.gz', '/../a', '/a//b', '/%2e', '/.git/config', 'a']) {
      await expect(place.publish([jsonDocument(path, {})])).rejects.toThrow(path)
    }
    expect(generationNames(place.publicDir)).toEqual([])
  })

  test('repairs the set after a failed step, with the old set readable meanwhile', async () => {
    await place.publish(worldOf(1))
    const steps: string[] = []
    await place.publish(worldOf(2), { nowMs: startMs + 1, beforeStep: (step) => steps.push(step) })
    for (const [index, failing] of steps.entries()) {
      const version = index + 3
      const broken = place.publish(worldOf(version), {
        nowMs: startMs + version,
        beforeStep: (step) => {
          if (step === failing) throw new Error('no space left on device')
        },
      })
      // A step of pruning comes only when there is something to prune.
      await broken.catch((error: unknown) => expect(String(error)).toContain('no space left'))
      const seen = versionsOf(readSet(place.publicDir, place.keys.publicKeys))
      expect(seen).toHaveLength(1)
      await place.publish(worldOf(version), { nowMs: startMs + version })
      expect(versionsOf(readSet(place.publicDir, place.keys.publicKeys))).toEqual([version])
    }
  })
})

describe('keys', () => {
  test('that were rotated leave old signatures valid and sign changed documents', async () => {
    await place.publish([jsonDocument('/a', { n: 1 }), jsonDocument('/b', { n: 1 })])
    const before = touches(place.publicDir)
    const rotated = await rotateKey({ dir: place.keysDir, nowMs: startMs + 1000 })
    const { signer, ring } = rotated

    await place.publish([jsonDocument('/a', { n: 1 }), jsonDocument('/b', { n: 1 })], {
      signer,
      ring,
    })
    expect(touches(place.publicDir)).toEqual(before)

    const { manifest } = await place.publish(
      [jsonDocument('/a', { n: 1 }), jsonDocument('/b', { n: 2 })],
      { signer, ring, nowMs: startMs + 2000 },
    )
    expect(manifest.documents.map((entry) => entry.kid)).toEqual([
      place.keys.signer.kid,
      rotated.signer.kid,
    ])
    readSet(place.publicDir, rotated.publicKeys)
  })

  test('that were lost and replaced sign everything again without changing a body', async () => {
    await place.publish(worldOf(1))
    const { ino } = statSync(inCurrent('api/v1/rails.json'))
    const fresh = await loadKeys({ dir: join(place.root, 'other-keys'), nowMs: startMs })
    const { signer, ring } = fresh
    const warnings: string[] = []
    const log = { debug() {}, info() {}, warn: (text: string) => warnings.push(text), error() {} }
    const next = await place.publish(worldOf(1), { signer, ring, log, nowMs: startMs + 1000 })
    expect(next).toMatchObject({ generation: 2, changed: [], unchanged: 16 })
    expect(warnings).toHaveLength(1)
    readSet(place.publicDir, fresh.publicKeys)
    expect(statSync(inCurrent('api/v1/rails.json')).ino).toBe(ino)
  })
})

describe('a builder that cannot read the published set leaves it unchanged', () => {
  const damages: [string, () => void][] = [
    ['a truncated manifest', () => truncateSync(inCurrent('snapshot.json'), 100)],
    ['an empty manifest', () => truncateSync(inCurrent('snapshot.json'), 0)],
    ['no manifest', () => unlinkSync(inCurrent('snapshot.json'))],
    ['no signature', () => unlinkSync(inCurrent('snapshot.json.sig'))],
    ['a manifest that was edited', () => edit('snapshot.json', '"max_age":60', '"max_age":61')],
    ['a document that was edited', () => edit('api/v1/rails.json', '"version":1', '"version":7')],
    ['a document that is gone', () => unlinkSync(inCurrent('api/v1/rails.json'))],
    ['a flipped bit in a compressed form', () => flip('api/v1/rails.json.br')],
    ['a link that points nowhere', () => relink('generations/00000009')],
    ['a link out of the directory', () => relink('../elsewhere')],
    ['a directory instead of the link', () => mkdirSync((unlinkSync(current()), current()))],
  ]

  test.each(damages)('%s', async (_, damage) => {
    await place.publish(worldOf(1))
    damage()
    const before = touches(place.publicDir)

    const failure = place.publish(worldOf(2), { nowMs: startMs + 1000 })

    await expect(failure).rejects.toThrow(DamagedGenerationError)
    await expect(failure).rejects.toThrow(/so it is not overwritten: .+ Restore it from a backup/)
    expect(touches(place.publicDir)).toEqual(before)
  })

  test('and publishes everything again after the operator removed the link', async () => {
    await place.publish(worldOf(1))
    truncateSync(inCurrent('snapshot.json'), 100)
    unlinkSync(current())
    const next = await place.publish(worldOf(1), { nowMs: startMs + 1000 })
    expect(next).toMatchObject({ generation: 2, unchanged: 0 })
    readSet(place.publicDir, place.keys.publicKeys)
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

  function relink(target: string) {
    unlinkSync(current())
    symlinkSync(target, current())
    expect(lstatSync(current()).isSymbolicLink()).toBe(true)
  }
})

test('one of two builders at once publishes, the other throws LockedError', async () => {
  const results = await Promise.allSettled([place.publish(worldOf(1)), place.publish(worldOf(2))])
  expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected'])
  const [lost] = results.filter((result) => result.status === 'rejected')
  expect(lost?.reason).toBeInstanceOf(LockedError)
  expect(versionsOf(readSet(place.publicDir, place.keys.publicKeys))).toHaveLength(1)
  expect(readdirSync(place.publicDir).sort()).toEqual(['current', 'generations'])
})

test('the archive contains facts with sorted keys, one per line, without volatile members', () => {
  const files = archiveFiles([
    { ...jsonDocument('/api/v1/rails', { b: 1, polled_at: 'now' }), archive: { b: 1, a: 2 } },
    textDocument('/desk/SKILL.md', 'text/markdown; charset=utf-8', '# Desk\n'),
    { ...jsonDocument('/api/v1/health', {}), archive: null },
  ])
  expect([...files]).toEqual([
    ['api/v1/rails.json', '{\n  "a": 2,\n  "b": 1\n}\n'],
    ['desk/SKILL.md', '# Desk\n'],
  ])
})
