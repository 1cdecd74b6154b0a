/** The log of a builder on a real database, read back from the files that it publishes. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { runJob } from '../../../builder/jobs/run-job.ts'
import type { LedgerLogDeps } from '../../../builder/log/log.ts'
import { snapshotEntry } from '../../../builder/publish/publish.ts'
import { exitCodes } from '../../../scripts/cli/output.ts'
import { loadLogSigner, noteSigner, openCheckpoint } from '../../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../../src/auth/signing-key.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { parseProof } from '../../../src/core/tlog/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import { parseEntry } from '../../../src/core/tlog/entry.ts'
import type { LogEntry } from '../../../src/core/tlog/entry.ts'
import {
  consistencyProof,
  includes,
  isConsistent,
  isSame,
  leafHash,
  rootOf,
} from '../../../src/core/tlog/merkle.ts'
import type { ReadNode } from '../../../src/core/tlog/merkle.ts'
import { nodesOf, tilePath, unpackEntries } from '../../../src/core/tlog/tiles.ts'
import { findCheckpoint, proofOf, putCheckpoint, queueEntries } from '../../../src/db/log.ts'
import type { QueuedEntry } from '../../../src/db/log.ts'
import { setRestoredAt } from '../../../src/db/meta.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { isPostgresUrl } from '../../../src/db/postgres/engine.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { tempDatabase, tempFolder } from '../../db/temp-database.ts'
import { runCommand } from '../../support/command-line.ts'
import { newDatabaseIn } from '../../support/new-database.ts'
import { beginLog, localDirectory, localLog } from '../../support/publish-log.ts'
import { quietLog } from '../../support/quiet-log.ts'

const signer = noteSigner('ledger.test/log', signingKeyFromSeed(new Uint8Array(32).fill(3)))
const startMs = Date.parse('2026-03-01T00:00:00Z')
const sha256 = 'ab'.repeat(32)

const receipts = (from: number, count: number): readonly QueuedEntry[] =>
  Array.from({ length: count }, (_, at) => ({ kind: 'receipt', id: `rcp_${from + at}`, sha256 }))

async function ledgerDatabase(options: Parameters<typeof tempDatabase>[0] = {}) {
  const database = await tempDatabase(options)
  await beginLog(database, signer)
  return database
}

async function queue({ write }: OpenDatabase, entries: readonly QueuedEntry[]): Promise<void> {
  await write((tx) => queueEntries(tx, entries))
}

function logOf(
  database: OpenDatabase,
  dir: string,
  { nowMs = startMs, ...options }: Partial<LedgerLogDeps> & { readonly nowMs?: number } = {},
) {
  const clock = { now: () => nowMs, monotonic: () => nowMs }
  return localLog({ database, files: localDirectory(dir), signer, clock, ...options })
}

/** Reads the log as a stranger does, who has the key and the files. */
async function readLog(
  dir: string,
): Promise<OpenedCheckpoint & { readonly entries: readonly LogEntry[]; readonly nodes: ReadNode }> {
  const file = async (path: string) => await readFile(join(dir, 'log', path))
  const opened = openCheckpoint((await file('checkpoint')).toString(), signer.key)
  const nodes = nodesOf(opened.size, (tile) => file(tilePath(tile)))
  expect(isSame(await rootOf(opened.size, nodes), opened.root)).toBe(true)
  const entries: LogEntry[] = []
  for (let at = 0; at * 256 < opened.size; at += 1) {
    const width = Math.min(256, opened.size - at * 256)
    for (const bytes of unpackEntries(await file(tilePath({ level: 'entries', at, width })))) {
      expect(isSame(leafHash(bytes), await nodes(0, entries.length))).toBe(true)
      const entry = parseEntry(bytes)
      if (entry === null) throw new Error(`entry ${entries.length} is malformed`)
      entries.push(entry)
    }
  }
  expect(entries).toHaveLength(opened.size)
  return { ...opened, entries, nodes }
}

test('each published checkpoint continues the one before and has every entry once, in queue order', async () => {
  const database = await ledgerDatabase()
  const dir = tempFolder()
  const log = logOf(database, dir)
  let before = { size: 0, root: (await log.grow(), await readLog(dir)).root }
  let queued = 0
  for (const count of [1, 2, 253, 1, 600, 255, 70]) {
    await queue(database, receipts(queued, count))
    queued += count
    await log.grow()
    const { size, root, nodes, entries } = await readLog(dir)
    expect(size).toBe(queued)
    expect(
      isConsistent(before, { size, root }, await consistencyProof(before.size, size, nodes)),
    ).toBe(true)
    expect(entries.map(({ id }) => id)).toEqual(receipts(0, queued).map(({ id }) => id))
    before = { size, root }
  }
  expect(await log.grow()).toBe('unchanged')
})

test('an entry names the last entry of its kind and subject, also within one batch', async () => {
  const database = await ledgerDatabase()
  const dir = tempFolder()
  const log = logOf(database, dir)
  const entry = (id: string, kind: 'reputation' | 'transition', subject: string) => ({
    kind,
    id,
    subject,
    sha256,
  })
  await queue(database, [
    entry('1', 'reputation', 'a'),
    entry('2', 'reputation', 'b'),
    entry('3', 'reputation', 'a'),
  ])
  await log.grow()
  await queue(database, [
    entry('1', 'transition', 'a'),
    entry('4', 'reputation', 'a'),
    entry('5', 'reputation', 'b'),
  ])
  await log.grow()
  const { entries } = await readLog(dir)
  expect(entries.map(({ prev }) => prev)).toEqual([null, null, 0, null, 2, 1])
})

test('an entry that is queued again is not logged again', async () => {
  const database = await ledgerDatabase()
  const dir = tempFolder()
  const log = logOf(database, dir)
  await queue(database, [...receipts(0, 2), ...receipts(1, 1)])
  await log.grow()
  await queue(database, receipts(0, 3))
  await log.grow()
  expect((await readLog(dir)).entries.map(({ id }) => id)).toEqual(['rcp_0', 'rcp_1', 'rcp_2'])
})

test('an entry with the id of another and other content fails the run, and the others are logged', async () => {
  const dir = tempFolder()
  const url = await newDatabaseIn(dir)
  const settings = { DATABASE_URL: isPostgresUrl(url) ? url : `sqlite:${url}`, DATA_DIR: dir }
  const database = await ledgerDatabase({ url })
  await queue(database, receipts(0, 1))
  await logOf(database, dir).grow()
  const other = { kind: 'receipt', sha256: 'cd'.repeat(32) } as const
  for (const [id, expected] of [
    ['rcp_0', ['rcp_0', 'rcp_1']],
    ['rcp_1', ['rcp_0', 'rcp_1', 'rcp_2']],
  ] as const) {
    await queue(database, [{ ...other, id }, ...receipts(expected.length - 1, 1)])
    await expect(logOf(database, dir).grow()).rejects.toThrow(
      'receipt rcp_0 with different content',
    )
    expect((await readLog(dir)).entries.map((entry) => entry.id)).toEqual(expected)
  }
  const many = Array.from({ length: 600 }, () => ({ ...other, id: 'rcp_0' }))
  await queue(database, [...many, ...receipts(3, 1)])
  const all = 'receipt rcp_0 with different content; such rows in log_queue: 602'
  await expect(logOf(database, dir).grow()).rejects.toThrow(all)
  expect((await readLog(dir)).entries.at(-1)?.id).toBe('rcp_3')
  await queue(database, receipts(4, 1))
  const args = ['admin', 'log', 'drop', '--reason', 'sent again', '--json']
  const { out } = await runCommand(args, settings)
  const { dropped } = z.object({ dropped: z.array(z.unknown()) }).parse(JSON.parse(out))
  expect(dropped).toHaveLength(602)
  expect(dropped[0]).toMatchObject({ kind: 'receipt', entryId: 'rcp_0', sha256: other.sha256 })
  expect((await runCommand(args, settings)).code).toBe(exitCodes.refused)
  await logOf(database, dir).grow()
  expect((await readLog(dir)).entries.map((entry) => entry.id)).toEqual(
    receipts(0, 5).map(({ id }) => id),
  )
  await queue(database, [{ ...other, id: 'rcp_9' }, ...receipts(9, 1)])
  await expect(logOf(database, dir).grow()).rejects.toThrow('receipt rcp_9 with different content')
})

test('entry times never decrease, even if the clock is set back', async () => {
  const database = await ledgerDatabase()
  const dir = tempFolder()
  for (const nowMs of [startMs, startMs - 3_600_000, startMs + 1]) {
    await queue(database, receipts(nowMs, 1))
    await logOf(database, dir, { nowMs }).grow()
  }
  const times = [startMs, startMs, startMs + 1].map((ms) => isoTime(ms))
  expect((await readLog(dir)).entries.map(({ at }) => at)).toEqual(times)
})

test('a run that ends at any step is continued by the next one, and no checkpoint names a missing tile', async () => {
  const database = await ledgerDatabase()
  const dir = tempFolder()
  await queue(database, receipts(0, 255))
  await logOf(database, dir).grow()
  let seen = await readLog(dir)
  let queued = 255
  const ended: string[] = []
  for (let steps = 0; steps < 10; steps += 1) {
    await queue(database, receipts(queued, 200))
    queued += 200
    let left = steps
    const beforeStep = (step: string) => {
      left -= 1
      if (left < 0) throw new Error(step)
    }
    await logOf(database, dir, { beforeStep })
      .grow()
      .catch((error: unknown) => ended.push(String(error)))
    const { size, root, nodes } = await readLog(dir)
    expect(isConsistent(seen, { size, root }, await consistencyProof(seen.size, size, nodes))).toBe(
      true,
    )
    await logOf(database, dir).grow()
    seen = await readLog(dir)
    expect(seen.entries.map(({ id }) => id)).toEqual(receipts(0, queued).map(({ id }) => id))
  }
  expect(ended.length).toBeGreaterThan(5)
})

test('a database that lacks published entries restores them before anything is signed', async () => {
  const dir = tempFolder()
  const lost = await ledgerDatabase()
  await queue(lost, receipts(0, 300))
  await logOf(lost, dir).grow()
  await queue(lost, receipts(300, 400))
  await logOf(lost, dir).grow()
  const before = await readLog(dir)

  const restored = await ledgerDatabase()
  await queue(restored, receipts(0, 300))
  const elsewhere = tempFolder()
  await logOf(restored, elsewhere).grow()
  await logOf(restored, dir).grow()
  const note = await readFile(join(dir, 'log/checkpoint'), 'utf8')
  expect(await findCheckpoint(restored.reader, 'published')).toMatchObject({ size: 700, note })
  await queue(restored, [...receipts(310, 5), ...receipts(900, 1)])
  await logOf(restored, dir).grow()
  const { size, root, nodes, entries } = await readLog(dir)
  expect(size).toBe(701)
  expect(isConsistent(before, { size, root }, await consistencyProof(700, size, nodes))).toBe(true)
  expect(entries.at(-1)?.id).toBe('rcp_900')
})

test('a database with other entries than the published log signs nothing', async () => {
  const dir = tempFolder()
  const published = await ledgerDatabase()
  await queue(published, receipts(0, 300))
  await logOf(published, dir).grow()
  const note = await readFile(join(dir, 'log/checkpoint'), 'utf8')
  for (const count of [290, 300, 310]) {
    const other = await ledgerDatabase()
    await queue(other, [...receipts(1000, 1), ...receipts(1, count - 1)])
    await logOf(other, tempFolder()).grow()
    await queue(other, receipts(2000, 1))
    const signed = await findCheckpoint(other.reader, 'signed')
    await expect(logOf(other, dir).grow()).rejects.toThrow('differ from the published log')
    expect(await findCheckpoint(other.reader, 'signed')).toEqual(signed)
    expect(await readFile(join(dir, 'log/checkpoint'), 'utf8')).toBe(note)
  }
})

test('a published log of another key stops the log', async () => {
  const dir = tempFolder()
  const database = await ledgerDatabase()
  await queue(database, receipts(0, 1))
  await logOf(database, dir).grow()
  const other = noteSigner('ledger.test/log', signingKeyFromSeed(new Uint8Array(32).fill(4)))
  await expect(logOf(database, dir, { signer: other }).grow()).rejects.toThrow(
    'has no signature by',
  )
})

test('nothing is signed without the newest published log until the operator accepts its name and size', async () => {
  const [dir, copy] = [tempFolder(), tempFolder()]
  const url = await newDatabaseIn(tempFolder())
  const database = await ledgerDatabase({ url })
  await queue(database, receipts(0, 300))
  await logOf(database, dir).grow()
  await cp(dir, copy, { recursive: true })
  await queue(database, receipts(300, 300))
  await logOf(database, dir).grow()
  await queue(database, receipts(600, 1))
  const signed = await findCheckpoint(database.reader, 'signed')
  for (const other of [tempFolder(), copy]) {
    const log = logOf(database, other)
    const reason = 'the database has 600 entries of the log, but the published log is lost'
    await expect(log.lastVersion()).rejects.toThrow(reason)
    expect(await log.grow()).toBe('resting')
    await expect(log.lastVersion()).rejects.toThrow('before the job log succeeds')
    await expect(logOf(database, other).grow()).rejects.toThrow(reason)
    expect(await findCheckpoint(database.reader, 'signed')).toEqual(signed)
  }
  const settings = { DATABASE_URL: isPostgresUrl(url) ? url : `sqlite:${url}`, DATA_DIR: dir }
  const accept = async (origin: string, size: string) => {
    const args = ['admin', 'log', 'accept', origin, size, '--reason', 'the disk is lost']
    return (await runCommand(args, settings)).code
  }
  expect(await accept('other.test/log', '600')).toBe(exitCodes.refused)
  expect(await accept('ledger.test/log', '60')).toBe(exitCodes.refused)
  await expect(logOf(database, copy).grow()).rejects.toThrow('is lost')
  expect(await accept('ledger.test/log', '600')).toBe(exitCodes.ok)
  await logOf(database, copy).grow()
  expect((await readLog(copy)).size).toBe(601)
  await expect(logOf(database, tempFolder()).grow()).rejects.toThrow('has 601 entries')
})

test('a database that was restored to the time before its first entry signs nothing without the published log', async () => {
  const database = await ledgerDatabase()
  await queue(database, receipts(0, 1))
  await database.write((tx) => setRestoredAt(tx, isoTime(startMs)))
  const lost = 'the database has 0 entries of the log, but the published log is lost'
  await expect(logOf(database, tempFolder()).grow()).rejects.toThrow(lost)
  expect(await findCheckpoint(database.reader, 'signed')).toMatchObject({ size: 0 })
})

test('a database that does not know the log of its key signs nothing until the operator accepts the size 0', async () => {
  const [dir, empty] = [tempFolder(), tempFolder()]
  const [lost, url] = [await ledgerDatabase(), await newDatabaseIn(tempFolder())]
  await queue(lost, receipts(0, 300))
  await logOf(lost, dir).grow()

  const database = await tempDatabase({ url })
  const key = await loadLogSigner(join(empty, 'keys'), systemRandom)
  await queue(database, receipts(0, 1))
  const reason =
    'the database has 0 entries of the log, but its key is older than the database: check DATABASE_URL'
  const isLost = async () => {
    const log = logOf(database, empty, { signer: key })
    await expect(log.grow()).rejects.toThrow(reason)
    await expect(log.lastVersion()).rejects.toThrow('before the job log succeeds')
    expect(await findCheckpoint(database.reader, 'signed')).toBeNull()
  }
  await isLost()
  const seen = () => Promise.resolve([{ name: 'one.test', size: 300 }])
  await expect(logOf(database, empty, { signer: key, askSizes: seen }).grow()).rejects.toThrow(
    'one.test has seen 300',
  )
  const settings = { DATABASE_URL: isPostgresUrl(url) ? url : `sqlite:${url}`, DATA_DIR: empty }
  const accept = async (origin: string, size: string) => {
    const args = ['admin', 'log', 'accept', origin, size, '--reason', 'all is lost']
    return (await runCommand(args, settings)).code
  }
  expect(await accept('ledger.test/log', '0')).toBe(exitCodes.refused)
  expect(await accept(key.key.name, '300')).toBe(exitCodes.refused)
  await isLost()
  expect(await accept(key.key.name, '0')).toBe(exitCodes.ok)
  await logOf(database, empty, { signer: key }).grow()
  expect(await findCheckpoint(database.reader, 'published')).toMatchObject({ size: 1 })

  const other = await tempDatabase()
  await expect(logOf(other, dir).grow()).rejects.toThrow(reason)
  expect(await findCheckpoint(other.reader, 'signed')).toBeNull()
  await beginLog(other, signer)
  await logOf(other, dir).grow()
  expect(await findCheckpoint(other.reader, 'signed')).toMatchObject({ size: 300 })
})

const { signal } = new AbortController()

/** A log whose clock is set by hand. */
async function clockedLog(nowMs = startMs) {
  const [database, dir] = [await ledgerDatabase(), tempFolder()]
  const time = { nowMs, steadyMs: 0 }
  const clock = { now: () => time.nowMs, monotonic: () => time.steadyMs }
  const start = (options: Partial<LedgerLogDeps> = {}) =>
    logOf(database, dir, { clock, ...options })
  const pass = (passedMs: number) => {
    time.nowMs += passedMs
    time.steadyMs += passedMs
  }
  let queued = 0
  const grow = async (log: ReturnType<typeof start>) => {
    await queue(database, receipts(queued, 1))
    queued += 1
    return await log.grow()
  }
  const sizeOf = async () => (await findCheckpoint(database.reader, 'signed'))?.size
  const accept = async () =>
    await database.write(async (tx) => {
      const { size = 0, note = '' } = (await findCheckpoint(tx, 'signed')) ?? {}
      await putCheckpoint(tx, 'accepted', { size, note })
    })
  /** Runs the job, which records a failure. */
  const runIn = async (log: ReturnType<typeof start>) => {
    const deps = { database, clock: { ...systemClock, ...clock }, log: quietLog, signal }
    return await runJob('log', deps, async () => {
      await grow(log)
      return null
    })
  }
  return { time, start, pass, grow, sizeOf, accept, runIn, dir }
}

test('nothing is logged or published after the clock of a running builder jumped by an hour, until it was steady for ten minutes', async () => {
  const { time, start, pass, grow, sizeOf, dir } = await clockedLog()
  const log = start()
  await grow(log)
  for (const passedMs of [minuteMs, 40 * dayMs]) {
    pass(passedMs)
    expect(await grow(log)).toBe('grown')
  }
  time.nowMs += 400 * dayMs
  const jumped = /the clock jumped from 2026-04-10T.* to 2027-05-15T/
  await expect(grow(log)).rejects.toThrow(jumped)
  await expect(log.lastVersion()).rejects.toThrow(jumped)
  time.nowMs -= 400 * dayMs
  pass(minuteMs)
  expect(await grow(log)).toBe('grown')
  time.nowMs += 61 * minuteMs
  for (let minutes = 0; minutes < 10; minutes += 1) {
    await expect(grow(log)).rejects.toThrow('the clock jumped')
    pass(minuteMs)
  }
  expect(await sizeOf()).toBe(5)
  await grow(log)
  expect((await readLog(dir)).entries.at(-1)?.at).toBe(isoTime(time.nowMs))
  time.nowMs -= 2 * dayMs
  expect(await grow(log)).toBe('grown')
})

test('nothing is logged after a jump of the clock within a run', async () => {
  const { time, start, grow, sizeOf, accept, dir } = await clockedLog()
  const jump = { to: 0 }
  const beforeStep = () => {
    time.nowMs += jump.to
  }
  const log = start({ beforeStep })
  await grow(log)
  const left = await sizeOf()
  await rm(join(dir, 'log'), { recursive: true })
  await accept()
  const other = start({ beforeStep })
  jump.to = 400 * dayMs
  await expect(grow(other)).rejects.toThrow('the clock jumped')
  expect(await sizeOf()).toBe(left)
})

test('a start more than 25 hours after the last entry logs nothing for ten minutes', async () => {
  const { time, start, pass, grow, sizeOf } = await clockedLog()
  await grow(start())
  pass(25 * hourMs)
  expect(await grow(start())).toBe('grown')
  pass(25 * hourMs + minuteMs)
  const log = start()
  for (let minutes = 0; minutes < 10; minutes += 1) {
    await expect(grow(log)).rejects.toThrow(', or the builder was off; nothing is logged')
    await expect(log.lastVersion()).rejects.toThrow('the clock jumped from 2026-03-02T01')
    pass(minuteMs)
  }
  expect(await sizeOf()).toBe(2)
  await grow(log)
  expect(await sizeOf()).toBe(13)
  expect(time.steadyMs).toBe(50 * hourMs + 11 * minuteMs)
})

test('a restart logs no time of a clock that the builder before it has refused', async () => {
  const { time, start, pass, grow, sizeOf, runIn } = await clockedLog()
  const log = start()
  expect(await runIn(log)).toBe(true)
  time.nowMs += 2 * hourMs
  expect(await runIn(log)).toBe(false)
  const next = start()
  for (let minutes = 0; minutes < 10; minutes += 1) {
    await expect(grow(next)).rejects.toThrow('the clock jumped')
    pass(minuteMs)
  }
  expect(await sizeOf()).toBe(1)
  time.nowMs -= 2 * hourMs
  expect(await grow(start())).toBe('grown')
})

test('a start more than 25 hours after the last entry logs at once if the operator accepts the end of the log', async () => {
  const { start, pass, grow, accept } = await clockedLog()
  await grow(start())
  pass(26 * hourMs)
  await expect(grow(start())).rejects.toThrow(/accept the end of the log: .* ledger.test\/log 1$/)
  await accept()
  const log = start()
  expect(await grow(log)).toBe('grown')
  pass(31 * dayMs)
  expect(await grow(log)).toBe('grown')
  pass(26 * hourMs)
  await expect(grow(start())).rejects.toThrow('the clock jumped')
})

test('a checkpoint that a paused builder has set back is replaced by the newest one', async () => {
  const dir = tempFolder()
  const database = await ledgerDatabase()
  await queue(database, receipts(0, 300))
  await logOf(database, dir).grow()
  const older = await readFile(join(dir, 'log/checkpoint'))
  await queue(database, receipts(300, 300))
  await logOf(database, dir).grow()
  await writeFile(join(dir, 'log/checkpoint'), older)
  await logOf(database, dir).grow()
  expect((await readLog(dir)).size).toBe(600)
})

test('versions of sets continue after the last one in the log', async () => {
  const database = await ledgerDatabase()
  const log = logOf(database, tempFolder())
  expect(await log.lastVersion()).toBe(0)
  await queue(database, [snapshotEntry('ab'.repeat(32), 6), snapshotEntry('cd'.repeat(32), 7)])
  await queue(database, receipts(0, 1))
  await log.grow()
  expect(await log.lastVersion()).toBe(7)
})

async function publishedOf(database: OpenDatabase) {
  const published = await findCheckpoint(database.reader, 'published')
  if (published === null) throw new Error('nothing is published')
  return published
}

test('a proof has the checkpoint that a quorum has cosigned, once that one contains its entry', async () => {
  const database = await ledgerDatabase()
  const log = logOf(database, tempFolder())
  const checkpointOf = async (id: string) =>
    parseProof((await proofOf(database.reader, 'receipt', id)) ?? '')?.checkpoint
  await queue(database, receipts(0, 300))
  await log.grow()
  const cosigned = await publishedOf(database)
  await queue(database, receipts(300, 300))
  await log.grow()
  await log.cosign(cosigned, ['— one.test AAAA'], false)
  const { note: newest } = await publishedOf(database)
  expect(await checkpointOf('rcp_299')).toBe(newest)
  await log.cosign(cosigned, ['— one.test AAAA', '— two.test AAAA'], true)
  const proof = parseProof((await proofOf(database.reader, 'receipt', 'rcp_299')) ?? '')
  expect(proof?.checkpoint).toBe(`${cosigned.note}— one.test AAAA\n— two.test AAAA\n`)
  const { size, root } = openCheckpoint(proof?.checkpoint ?? '', signer.key)
  const leaf = leafHash(proof?.entry ?? new Uint8Array())
  expect(includes({ size, root }, { index: 299, leaf, proof: proof?.hashes ?? [] })).toBe(true)
  expect(await checkpointOf('rcp_300')).toBe(newest)
  expect((await publishedOf(database)).note).toBe(newest)
})

test('a cosigned checkpoint is published unless there is a newer one', async () => {
  const dir = tempFolder()
  const database = await ledgerDatabase()
  await queue(database, receipts(0, 1))
  const log = logOf(database, dir)
  await log.grow()
  const first = await publishedOf(database)
  await log.cosign(first, ['— witness.test AAAA'], false)
  expect(await readFile(join(dir, 'log/checkpoint'), 'utf8')).toContain('witness.test')
  await queue(database, receipts(1, 1))
  await log.grow()
  await log.cosign(first, ['— late.test AAAA'], false)
  expect(await readFile(join(dir, 'log/checkpoint'), 'utf8')).not.toContain('late.test')
  expect(await findCheckpoint(database.reader, 'witnessed')).toBeNull()
  await writeFile(join(dir, 'log/checkpoint'), 'damaged')
  await expect(logOf(database, dir).grow()).rejects.toThrow('is not a signed checkpoint')
})

test('a run ends although entries arrive all the time, so that cosignatures are requested too', async () => {
  const [database, dir] = [await ledgerDatabase(), tempFolder()]
  await logOf(database, dir).grow()
  await queue(database, receipts(0, 10))
  const arriving: Promise<void>[] = []
  const beforeStep = (step: string): void => {
    if (step !== 'record the checkpoint' || arriving.length === 20) return
    arriving.push(queue(database, receipts(10 + arriving.length * 10, 10)))
  }
  const log = logOf(database, dir, { beforeStep })
  expect(await log.grow()).toBe('grown')
  expect((await readLog(dir)).size).toBe(10)
  await log.grow()
  expect((await readLog(dir)).size).toBe(20)
})
