import { readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodyKey, filesNamedIn, lastModified, manifestSchema } from '../../src/core/documents.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { newestPublication } from '../../src/db/publications.ts'
import { createDocumentStore } from '../../src/http/document-store.ts'
import type { DocumentStore } from '../../src/http/document-store.ts'
import { gate } from '../db/temp-database.ts'
import {
  handClock,
  jsonDocument,
  publicDir,
  sampleDocuments,
  startService,
} from '../support/http-service.ts'
import type { HandClock, PublicDir } from '../support/http-service.ts'
import { requestJson } from '../support/requests.ts'

let published: PublicDir
let clock: HandClock
let store: DocumentStore
let problems: string[]

beforeEach(async () => {
  published = await publicDir()
  clock = handClock()
  problems = []
  store = openStore()
})

function openStore(sleep = clock.sleep): DocumentStore {
  const silent = () => undefined
  const error = (message: string) => void problems.push(message)
  const log = { debug: silent, info: silent, warn: silent, error }
  return createDocumentStore({
    source: published.source,
    clock: { ...clock, sleep },
    log,
  })
}

afterEach(() => published.remove())

async function restartStore(): Promise<void> {
  store = openStore()
  await store.reload()
}

/** A set in which every document contains the same number, so that a mixture is visible. */
function numbered(number: number) {
  return ['a', 'b', 'c', 'd'].map((name) => jsonDocument(`/api/v1/${name}`, { name, number }))
}

const textOf = (path: string) => store.get(path)?.variants.identity.body.toString() ?? ''
const numbers = z.object({ number: z.number() })
const numberOf = (name: string) => numbers.parse(JSON.parse(textOf(`/api/v1/${name}`))).number
const allNumbers = () => ['a', 'b', 'c', 'd'].map(numberOf)

/** Returns the path of a file of the current set. */
async function currentFile(file: string): Promise<string> {
  const { location = '' } = (await newestPublication(published.database.reader)) ?? {}
  if (file.startsWith('snapshot.json')) return join(published.dir, location, file)
  const text = await readFile(join(published.dir, location, 'snapshot.json'), 'utf8')
  const named = [...filesNamedIn(manifestSchema.parse(JSON.parse(text)))]
  const found = named.find((one) => one.file === file)
  if (found === undefined) throw new Error(`no file ${file}`)
  return join(published.dir, bodyKey(found))
}

test('the store holds every document of the set and nothing else', async () => {
  const { manifest } = await published.publish(sampleDocuments)
  await store.reload()
  expect(store.state()).toEqual({ manifest, problem: null, damaged: new Map() })
  for (const { path } of sampleDocuments) expect(store.get(path)?.entry.path).toBe(path)
  expect(store.get('/snapshot.json')).toBeDefined()
  for (const path of ['/api/v1/rails.json', '/snapshot.json.sig', '__proto__', '']) {
    expect(store.get(path)).toBeUndefined()
  }
})

test('a reload keeps the buffers of unchanged documents and drops removed documents', async () => {
  await published.publish(sampleDocuments)
  await store.reload()
  const before = sampleDocuments.map(({ path }) => store.get(path))
  const next = sampleDocuments.map((document) =>
    document.path === '/api/v1/rails/x402'
      ? jsonDocument(document.path, { rail: 'new' })
      : document,
  )
  await published.publish(next.slice(1), clock.now())
  await store.reload()
  const after = sampleDocuments.map(({ path }) => store.get(path))
  const changed = sampleDocuments.filter((_, at) => before[at] !== after[at])
  const [removed = ''] = sampleDocuments.map(({ path }) => path)
  expect(changed.map(({ path }) => path)).toEqual([removed, '/api/v1/rails/x402'])
  expect(store.get(removed)).toBeUndefined()
  expect(textOf('/api/v1/rails/x402')).toBe('{"rail":"new"}')
})

const damages: [string, (path: string) => Promise<void>, string, RegExp][] = [
  ['a changed byte', flip, 'api/v1/b.json', /^\/api\/v1\/b does not match its hash$/],
  ['a cut file', (path) => truncate(path, 3), 'api/v1/b.json', /^\/api\/v1\/b does not match/],
  ['a missing file', rm, 'api/v1/c.json', /^\/api\/v1\/c cannot be read$/],
  ['a changed manifest', flip, 'snapshot.json', /^the manifest is not/],
  ['an empty manifest', (path) => truncate(path, 0), 'snapshot.json', /^the manifest is not JSON$/],
  ['a lost signature', rm, 'snapshot.json.sig', /^the signature of the set/],
  ['a manifest without its hash', swapHash, 'snapshot.json', /^the hash of the set/],
]

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path)
  bytes[0] = (bytes[0] ?? 0) ^ 1
  await writeFile(path, bytes)
}

async function swapHash(path: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(
    path,
    text
      .replace(/"set_sha256":"./, '"set_sha256":"0')
      .replace(/"set_sha256":"0[0-9a-f]/, '"set_sha256":"0f'),
  )
}

async function damageCurrent(file: string, damage = flip): Promise<void> {
  await damage(await currentFile(file))
}

const aged = (days: number) => clock.now() + days * dayMs

test.each(damages)(
  '%s: the new set is refused and the old one is served, also after a restart',
  async (_name, damage, file, problem) => {
    const { manifest } = await published.publish(numbered(1), aged(1))
    await store.reload()
    await published.publish(numbered(2), aged(2))
    await damageCurrent(file, damage)
    await store.reload()
    expect(allNumbers()).toEqual([1, 1, 1, 1])
    expect(store.state().problem).toMatch(problem)
    expect(store.state().problem).not.toContain(published.dir)
    expect(problems.splice(0)).toEqual(['published set refused'])

    await restartStore()
    expect(allNumbers()).toEqual([1, 1, 1, 1])
    const { problem: shown, manifest: served } = store.state()
    expect(served).toEqual(manifest)
    const [reason = '', rest] = shown?.split('; ') ?? []
    expect(reason).toMatch(problem)
    expect(rest).toBe(`until there is a valid one, the set of ${manifest.computed_at} is served`)
    expect(problems).toEqual(['published set refused', 'an older published set is served'])
  },
)

describe('a changed byte in one of many documents', () => {
  const many = Array.from({ length: 20 }, (_, at) => jsonDocument(`/api/v1/rails/r${at}`, { at }))

  test('a changed byte stops only its document, until the next build writes it again with its signature', async () => {
    const { manifest } = await published.publish(many)
    await published.publish([...many, jsonDocument('/api/v1/rails', {})], aged(1))
    const flipped = await currentFile('api/v1/rails/r3.json')
    const { ino } = await stat(flipped)
    const signatureOf = (path: string) => manifest.documents.find((one) => one.path === path)
    await flip(flipped)
    const service = await startService(published.dir)
    try {
      const paths = many.map(({ path }) => path)
      const answers = () => Promise.all(paths.map((path) => requestJson(service, path)))
      const refused = (await answers()).filter(({ status }) => status !== 200)
      expect(refused).toMatchObject([{ status: 503, body: { code: 'unavailable' } }])
      expect(service.store.state().problem).toBe('/api/v1/rails/r3 does not match its hash')

      await published.publish([...many, jsonDocument('/api/v1/rails', {})], aged(2))
      await service.store.reload()
      expect(service.store.state().problem).toBeNull()
      for (const [at, { status, headers }] of (await answers()).entries()) {
        const entry = signatureOf(paths[at] ?? '')
        expect([status, headers.get('last-modified')]).toEqual([
          200,
          lastModified(entry?.changed_at ?? ''),
        ])
        expect(headers.get('x-signature')).toContain(entry?.signature)
      }
      expect((await stat(flipped)).ino).not.toBe(ino)
    } finally {
      await service.stop()
    }
  })

  test('a document is read again once an operator has restored its file', async () => {
    await published.publish(many)
    const file = await currentFile('api/v1/rails/r3.json')
    const kept = await readFile(file)
    await rm(file)
    await store.reload()
    expect(store.state().problem).toBe('/api/v1/rails/r3 cannot be read')
    await writeFile(file, kept)
    await store.reload()
    expect([store.state().problem, textOf('/api/v1/rails/r3')]).toEqual([null, '{"at":3}'])
  })

  test('changed bytes in more than a tenth of the documents stop the whole set', async () => {
    await published.publish(many)
    for (const at of [1, 2, 3]) await flip(await currentFile(`api/v1/rails/r${at}.json`))
    await store.reload()
    expect(store.state().manifest).toBeNull()
  })
})

describe('a service started on a damaged set', () => {
  test('a service started on a damaged set serves the newest intact set', async () => {
    for (const number of [1, 2, 3]) {
      await published.publish(numbered(number), aged(number))
      if (number > 1) await damageCurrent('api/v1/c.json')
    }
    await restartStore()
    expect(allNumbers()).toEqual([1, 1, 1, 1])
    expect(problems).toEqual([
      'published set refused',
      'older published set refused',
      'an older published set is served',
    ])
  })

  test('serves no document if no published set is intact', async () => {
    for (const number of [1, 2]) {
      await published.publish(numbered(number), aged(number))
      await damageCurrent('api/v1/a.json')
    }
    await restartStore()
    expect(store.get('/api/v1/b')).toBeUndefined()
    expect(store.state()).toMatchObject({
      manifest: null,
      problem: '/api/v1/a does not match its hash',
    })
  })

  test('reports that no published set is intact, unlike the answer before the first publication', async () => {
    const paths = ['/api/v1/rails', '/api/v1/stats/live', '/openapi.json', '/docs']
    const expectAtEachPath = async (details: string) => {
      const service = await startService(published.dir)
      for (const path of paths) {
        const { status, headers, body } = await requestJson(service, path)
        expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '5'])
        expect(body).toMatchObject({ code: 'unavailable', details })
      }
      await service.stop()
    }
    await expectAtEachPath('Nothing has been published yet')
    await published.publish(numbered(1), aged(1))
    await flip(await currentFile('api/v1/a.json'))
    await expectAtEachPath('No published set can be served')
  })

  test('never serves a published set without a row, such as that of a crashed builder', async () => {
    await published.publish(numbered(1), aged(1))
    await published.publish(numbered(2), aged(2))
    const { write } = published.database
    await write((tx) => tx.deleteFrom('publications').where('version', '=', 2).execute())
    await damageCurrent('api/v1/a.json')
    await restartStore()
    expect(store.get('/api/v1/a')).toBeUndefined()
  })

  test('serves an older set with its signatures, and the next intact set once published', async () => {
    await published.publish(numbered(1), aged(1))
    const before = await startService(published.dir)
    const headersOf = async (url: string) => {
      const answer = await fetch(`${url}/api/v1/a`)
      const names = ['etag', 'last-modified', 'cache-control', 'x-signature', 'x-signature-key']
      return [await answer.text(), ...names.map((name) => answer.headers.get(name))]
    }
    const whole = await headersOf(before.url)
    await before.stop()
    await published.publish(numbered(2), aged(2))
    await damageCurrent('api/v1/b.json')

    const service = await startService(published.dir)
    try {
      expect(await headersOf(service.url)).toEqual(whole)
      // A client with the damaged newer document does not receive 304 for the older one.
      const since = { 'If-Modified-Since': lastModified(isoTime(aged(2))) }
      expect((await fetch(`${service.url}/api/v1/a`, { headers: since })).status).toBe(200)
      expect(service.lines().map(({ level, message }) => [level, message])).toEqual(
        expect.arrayContaining([['error', 'an older published set is served']]),
      )
      await service.store.reload()
      expect(service.store.state().problem).toContain('; until there is a valid one, ')
      await published.publish(numbered(3), aged(3))
      await service.store.reload()
      expect((await headersOf(service.url))[0]).toBe('{"name":"a","number":3}')
      expect(service.store.state().problem).toBeNull()
    } finally {
      await service.stop()
    }
  })
})

test('a compressed form that differs from the published one is never served', async () => {
  await published.publish(sampleDocuments)
  await damageCurrent('api/v1/rails.json.br')
  await store.reload()
  expect(store.state().problem).toBe('/api/v1/rails does not match its hash')
})

test('the watcher notices documents that another process publishes or removes', async () => {
  const ending = new AbortController()
  let [asleep, wake] = [gate(), gate()]
  store = openStore(async () => {
    asleep.open()
    await wake.opened
  })
  const tick = async (): Promise<void> => {
    const woken = wake
    ;[asleep, wake] = [gate(), gate()]
    woken.open()
    await asleep.opened
  }
  const watching = store.watch(ending.signal)
  await asleep.opened
  await published.publish(numbered(1))
  await tick()
  expect(numberOf('a')).toBe(1)
  await published.publish(numbered(2), clock.now())
  await tick()
  expect(numberOf('a')).toBe(2)
  ending.abort()
  wake.open()
  await watching
})

test('readers during 60 publications see one set or the next, never a mixture', async () => {
  await published.publish(numbered(0))
  await store.reload()
  const done = new AbortController()
  let mixtures = 0
  let reads = 0
  const reader = async (): Promise<void> => {
    while (!done.signal.aborted) {
      const found = new Set(allNumbers())
      if (found.size !== 1) mixtures += 1
      reads += 1
      await nextTurn()
    }
  }
  const reading = reader()
  for (let number = 1; number <= 60; number += 1) {
    await published.publish(numbered(number), clock.now() + number)
    await Promise.all([store.reload(), store.reload()])
  }
  done.abort()
  await reading
  expect(mixtures).toBe(0)
  expect(reads).toBeGreaterThan(60)
  expect(numberOf('d')).toBe(60)
  expect((await stat(published.dir)).isDirectory()).toBe(true)
})
