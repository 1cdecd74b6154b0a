/** The command line over real HTTP, on logs that keep their promises and on logs that do not. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { noteSigner } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { formatKey } from '../../src/core/tlog/note.ts'
import { packEntries, unpackEntries } from '../../src/core/tlog/tiles.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import {
  createTestLog,
  logClock,
  logKeyTitle,
  logVkey,
  serveTestLog,
  testEntries,
} from '../support/test-log.ts'
import type { TestLog } from '../support/test-log.ts'
import { cosignerOf, mlDsaCosignerOf } from '../support/witness.ts'

const verify = async (url: string, ...args: string[]) =>
  await runCommand(
    ['log', 'verify', '--vkey', logVkey, ...args],
    { LEDGER_URL: url },
    { fetch, clock: logClock },
  )

async function logOf(...counts: readonly number[]): Promise<TestLog> {
  const log = createTestLog()
  let from = 0
  for (const count of counts) {
    await log.grow(testEntries(from, count))
    from += count
  }
  return log
}

test('log verify accepts a log, remembers its checkpoint, and follows it', async () => {
  const log = await logOf(3)
  const { url } = await serveTestLog(() => log)
  const state = join(tempFolder(), 'log.txt')
  const first = await verify(url, '--state', state)
  expect(first.out).toContain('good  checkpoint: size 3, signed by ledger.test/log')
  expect(first.out).toContain('note  witnesses: not witnessed')
  expect(first.out).toContain('good  consistency: no checkpoint was seen before')
  expect(first.code).toBe(0)

  for (const [from, count] of [
    [3, 253],
    [256, 1],
    [257, 700],
  ] as const) {
    await log.grow(testEntries(from, count))
    const next = await verify(url, '--state', state)
    expect(next.out).toContain(`good  consistency: consistent with size ${from}`)
    expect(next.out).toContain(`good  entries: ${from + count}: canonical`)
    expect(next.code).toBe(0)
    expect(readFileSync(state)).toEqual(Buffer.from(log.files.get('checkpoint') ?? []))
  }
})

test('log verify reads full tiles where those that were not full are gone', async () => {
  const log = await logOf(300)
  const older = log.files.get('checkpoint') ?? new Uint8Array()
  await log.grow(testEntries(300, 400))
  log.files.set('checkpoint', older)
  log.files.delete('tile/0/001.p/44')
  log.files.delete('tile/entries/001.p/44')
  const { url, requested } = await serveTestLog(() => log)
  expect((await verify(url)).out).toContain('good  entries: 300')
  expect(requested).toContain('/log/tile/entries/001')
})

test('log verify accepts an empty log', async () => {
  const log = await logOf(0)
  const { url } = await serveTestLog(() => log)
  expect((await verify(url)).code).toBe(0)
})

const tampered: readonly (readonly [string, (log: TestLog) => void | Promise<unknown>, string])[] =
  [
    [
      'a changed entry',
      ({ files }) => {
        const entries = [...unpackEntries(files.get('tile/entries/001.p/44') ?? new Uint8Array())]
        entries[2] = Buffer.from(
          Buffer.from(entries[2] ?? [])
            .toString()
            .replace('rcp_258', 'rcp_259'),
        )
        files.set('tile/entries/001.p/44', packEntries(entries))
      },
      'BAD   entries: entry 258 differs from its hash in the tree',
    ],
    [
      'entries that are cut short',
      ({ files }) => {
        const bytes = files.get('tile/entries/000') ?? new Uint8Array()
        files.set('tile/entries/000', bytes.subarray(0, bytes.length - 1))
      },
      'BAD   entries: tile/entries/000 is cut short',
    ],
    [
      'a missing entry',
      ({ files }) => {
        const entries = unpackEntries(files.get('tile/entries/000') ?? new Uint8Array())
        files.set('tile/entries/000', packEntries(entries.slice(0, 255)))
      },
      'BAD   entries: entry 255 differs from its hash in the tree',
    ],
    [
      'a changed full tile',
      ({ files }) => void (files.get('tile/0/000') ?? new Uint8Array()).fill(7, 40, 41),
      'BAD   tiles: tile/0/000 does not have the hash that the tile above it gives',
    ],
    [
      'a changed tile that is not full',
      ({ files }) => void (files.get('tile/0/001.p/44') ?? new Uint8Array()).fill(7, 40, 41),
      'BAD   tiles: the tiles do not have the root of the checkpoint of size 300',
    ],
    [
      'a missing tile',
      ({ files }) => void files.delete('tile/1/000.p/1'),
      'BAD   tiles: tile/1/000.p/1 is missing, which a log of 300 entries has',
    ],
    [
      'a short tile',
      ({ files }) => void files.set('tile/0/001.p/44', new Uint8Array(32)),
      'BAD   tiles: tile/0/001.p/44 has less than 44 hashes',
    ],
    [
      'a wrong root',
      (log) => void log.sign(300, new Uint8Array(32)),
      'BAD   tiles: the tiles do not have the root of the checkpoint of size 300',
    ],
    [
      'a forged signature',
      ({ files }) => {
        const note = Buffer.from(files.get('checkpoint') ?? []).toString()
        files.set('checkpoint', Buffer.from(note.replace('\n300\n', '\n299\n')))
      },
      `BAD   checkpoint: the signature by ${logKeyTitle} is not valid`,
    ],
    [
      'a checkpoint by another key',
      async ({ files }) => {
        const other = createTestLog(
          noteSigner('ledger.test/log', signingKeyFromSeed(new Uint8Array(32).fill(4))),
        )
        await other.grow(testEntries(0, 300))
        files.set('checkpoint', other.files.get('checkpoint') ?? new Uint8Array())
      },
      `BAD   checkpoint: the checkpoint has no signature by ${logVkey}`,
    ],
    [
      'no checkpoint',
      ({ files }) => void files.delete('checkpoint'),
      'BAD   checkpoint: the log has no checkpoint yet',
    ],
    [
      'an entry that breaks the order of time',
      (log) => log.grow(testEntries(7, 1)),
      'BAD   entries: entry 300 (receipt rcp_7) has the time',
    ],
    [
      'a text that is no entry',
      (log) => log.grow([Buffer.from('hello')]),
      'BAD   entries: entry 300 is not the canonical form of an entry',
    ],
  ]

test.each(tampered)('log verify refuses a log with %s', async (_, tamper, message) => {
  const log = await logOf(300)
  const { url } = await serveTestLog(() => log)
  expect((await verify(url)).code).toBe(0)
  await tamper(log)
  const answer = await verify(url)
  expect(answer.out).toContain(message)
  expect(answer.code).toBe(1)
})

test('log verify proves a fork with both signed checkpoints and keeps the first one', async () => {
  const log = await logOf(300)
  const fork = await logOf(299)
  await fork.grow([{ ...testEntries(299, 1)[0], id: 'another' }])
  const state = join(tempFolder(), 'log.txt')
  let served = log
  const { url } = await serveTestLog(() => served)
  expect((await verify(url, '--state', state)).code).toBe(0)
  served = fork
  const note = (of: TestLog) => Buffer.from(of.files.get('checkpoint') ?? []).toString()
  const root = (of: TestLog) => note(of).split('\n')[2]
  const expectFork = async (size: number) => {
    const answer = await verify(url, '--state', state)
    expect(answer.code).toBe(1)
    expect(answer.out).toContain(
      `BAD   consistency: the log has forked: the checkpoint of size ${size} with the root ${root(fork)} contradicts the checkpoint of size 300 with the root ${root(log)}, which was seen before`,
    )
    expect(answer.err).toBe(`${note(log)}\n${note(fork)}`)
    expect(readFileSync(state, 'utf8')).toBe(note(log))
  }
  await expectFork(300)
  await fork.grow(testEntries(300, 300))
  await expectFork(600)
})

test('log verify calls a copy that lags behind, not a fork, and proves with the log that it is its beginning', async () => {
  const [log, copy] = [await logOf(300), await logOf(100)]
  const state = join(tempFolder(), 'log.txt')
  const [{ url }, { url: mirror }] = [await serveTestLog(() => log), await serveTestLog(() => copy)]
  await verify(url, '--state', state)
  const alone = await verify(mirror, '--state', state)
  expect(alone.out).toContain(
    'BAD   consistency: behind: size 100 of a copy that lags, or of a log that has lost entries, without the tiles of size 300',
  )
  expect(alone.out + alone.err).not.toMatch(/fork/)
  expect(alone.code).toBe(1)
  const args = ['--state', state, '--log-url', `${mirror}/log`, '--ledger', url]
  const both = await verify(url, ...args)
  expect(both.out).toContain(
    'good  consistency: behind: size 100 is the beginning of size 300, which was seen before',
  )
  expect(both.code).toBe(0)
  await copy.grow([{ ...testEntries(100, 1)[0], id: 'another' }])
  const forked = await verify(url, ...args)
  expect(forked.out).toContain('BAD   consistency: the log has forked: the checkpoint of size 101')
})

test('log verify accepts an older checkpoint of the same log and remembers the newer one', async () => {
  const log = await logOf(300)
  const older = log.files.get('checkpoint') ?? new Uint8Array()
  await log.grow(testEntries(300, 300))
  const newer = log.files.get('checkpoint') ?? new Uint8Array()
  const state = join(tempFolder(), 'log.txt')
  const { url } = await serveTestLog(() => log)
  await verify(url, '--state', state)
  log.files.set('checkpoint', older)
  const answer = await verify(url, '--state', state)
  expect(answer.out).toContain('behind: size 300 is the beginning of size 600, which was seen')
  expect(answer.code).toBe(0)
  expect(readFileSync(state)).toEqual(Buffer.from(newer))
})

test('log verify demands the cosignatures of the given witnesses', async () => {
  const [first, second] = [cosignerOf('w1.test', 8), mlDsaCosignerOf('w2.test', 9)]
  const log = await logOf(3)
  const { url } = await serveTestLog(() => log)
  const demand = [first, second].flatMap(({ key }) => ['--witness', formatKey(key)])
  const root = Buffer.from(
    Buffer.from(log.files.get('checkpoint') ?? [])
      .toString()
      .split('\n')[2] ?? '',
    'base64',
  )
  log.sign(3, root, [first])
  const one = await verify(url, ...demand)
  expect(one.out).toContain('BAD   witnesses: not witnessed: the cosignature of w2.test is missing')
  expect(one.code).toBe(1)
  log.sign(3, root, [first, second])
  const both = await verify(url, ...demand)
  expect(both.out).toContain('good  witnesses: witnessed by w1.test, w2.test')
  expect(both.code).toBe(0)
})

test('log verify refuses a malformed key and keeps no state of a log that it cannot check', async () => {
  const log = await logOf(3)
  log.files.delete('tile/0/000.p/3')
  const { url } = await serveTestLog(() => log)
  const state = join(tempFolder(), 'log.txt')
  expect((await verify(url, '--state', state)).code).toBe(1)
  expect(existsSync(state)).toBe(false)
  const args = ['log', 'verify', '--vkey', logVkey.replace('+', '-')]
  const answer = await runCommand(args, { LEDGER_URL: url }, { fetch, clock: logClock })
  expect(answer.err).toContain('the key of a log has the form <name>+<key id>+<base64>')
})
