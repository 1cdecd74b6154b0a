/** Replays power cuts at every flush of the database and of the published log while receipts are accepted and logged. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'

import type { PublicFiles } from '../../../builder/publish/store/store.ts'
import { verifyEd25519 } from '../../../src/auth/ed25519.ts'
import { loadLogSigner, openCheckpoint } from '../../../src/auth/notes.ts'
import type { NoteSigner } from '../../../src/auth/notes.ts'
import { createLogAudit } from '../../../src/client/log-audit.ts'
import { createLogReader } from '../../../src/client/log.ts'
import type { LogReader } from '../../../src/client/log.ts'
import type { LogEntry } from '../../../src/core/tlog/entry.ts'
import { findCheckpoint } from '../../../src/db/log.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { boardReceipt, installBoardProgram } from '../../e2e/board.ts'
import { addressOf, useProgram } from '../../e2e/ledger.ts'
import * as database from '../../e2e/recorded-disk.ts'
import { runCommand } from '../../support/program.ts'
import { beginLog, localLog } from '../../support/publish-log.ts'
import { randomFrom } from '../../support/random.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import * as tree from './recorded-tree.ts'

allowSlowTests('starts the compiled program')

const [groups, perGroup] = [6, 30]
const promisedMs = 60_000
const seed = 20_261_123
const timeoutMs = 600_000
const program = useProgram(installBoardProgram)
const root = mkdtempSync(join(tmpdir(), 'ledger-power-cut-'))
const [dataDir, publicDir] = [join(root, 'data'), join(root, 'public')]
const logDir = join(publicDir, 'log')
const tracePath = join(root, 'trace')
mkdirSync(logDir, { recursive: true })
const before = tree.load(logDir)
afterAll(() => rmSync(root, { recursive: true, force: true }))

const answer = z.object({ receipt_id: z.string(), log: z.object({ promise: z.string() }) })
/** What the log promises of each accepted receipt: the fields of the note. */
type Promises = ReadonlyMap<string, readonly string[]>

/** Runs service and builder under strace. Each group of receipts is posted after the one before it is in the published log. */
async function record(): Promise<Promises> {
  const calls = `trace=${database.tracedCalls},${tree.tracedCalls}`
  const traced = ['-f', '-y', '-xx', '-s', String(database.tracedBytes), '-e', calls]
  const quiet = ['-qq', '--seccomp-bpf', '-e', 'signal=none', '-o', tracePath]
  const strace = runCommand('strace', [...traced, ...quiet, process.execPath, program.service], {
    DATA_DIR: dataDir,
    PUBLIC_DIR: publicDir,
    PORT: '0',
    LIMITS: 'off',
    POLL: 'off',
  })
  const url = await addressOf(strace)
  const headers = { 'Content-Type': 'application/json' }
  const promises = new Map<string, readonly string[]>()
  for (let group = 1; group <= groups; group += 1) {
    const post = async (_: unknown, at: number) => {
      const body = await boardReceipt(group * perGroup + at)
      const response = await fetch(`${url}/api/v1/receipts`, { method: 'POST', headers, body })
      expect(response.status).toBe(201)
      const { receipt_id: id, log } = answer.parse(await response.json())
      promises.set(id, log.promise.split('\n'))
    }
    await Promise.all(Array.from({ length: perGroup }, post))
    const sizeOf = async () =>
      Number((await (await fetch(`${url}/log/checkpoint`)).text()).split('\n')[1])
    // Each receipt has one entry, and one of the reputation ledger.
    await expect.poll(sizeOf).toBeGreaterThanOrEqual(group * perGroup * 2)
  }
  const service = readFileSync(`/proc/${strace.pid}/task/${strace.pid}/children`, 'utf8').trim()
  process.kill(Number(service), 'SIGTERM')
  expect(await strace.ended).toBe(0)
  return promises
}

interface Cut {
  readonly stored: database.Disk
  readonly published: tree.Disk
  /** The newest checkpoint that readers have seen, flushed or not. */
  readonly seen: string | null
}

function* cutsOf(lines: readonly string[]): Generator<Cut> {
  const random = randomFrom(seed)
  const files = tree.replay(logDir, before, [], random)
  const eventOf = database.createLineReader(dataDir)
  const rows = database.replayDisk(random)
  let seen: string | null = null
  for (const line of lines) {
    for (const published of files.play(line)) {
      if (published.isWhole) seen = published.read('checkpoint')?.toString() ?? null
      for (const stored of rows.cut()) yield { stored, published, seen }
    }
    const event = eventOf(line)
    if (event === null) continue
    for (const stored of rows.play(event)) {
      for (const published of files.cut()) yield { stored, published, seen }
    }
  }
}

async function entriesOf(reader: LogReader): Promise<readonly LogEntry[]> {
  const { size, entriesOf: read } = await reader.check()
  const audit = createLogAudit(new Uint8Array(32))
  const entries: LogEntry[] = []
  for (let at = 0; at * 256 < size; at += 1) {
    for (const bytes of await read(at)) entries.push(audit.add(bytes))
  }
  await audit.settle(read)
  return entries
}

/** Starts on the disks, and reads the log like a client that has seen the newest checkpoint before the cut. */
async function expectContinued(
  { stored, published, seen }: Cut,
  { key, sign }: NoteSigner,
  promises: Promises,
): Promise<number> {
  const changed = new Map<string, Uint8Array>()
  const files: PublicFiles = {
    get: async (path) => {
      const bytes = changed.get(path) ?? published.read(path.replace('log/', ''))
      return await Promise.resolve(bytes === null ? null : { bytes: Buffer.from(bytes) })
    },
    list: async () => await Promise.resolve(new Map()),
    put: async (path, bytes) => await Promise.resolve(changed.set(path, bytes)),
    remove: async () => await Promise.resolve(),
  }
  const readerAfter = (note: string | null) => {
    let last = note
    const load = async () => await Promise.resolve(last)
    const save = async (newer: string) => await Promise.resolve(void (last = newer))
    const read = async (path: string) => (await files.get(`log/${path}`))?.bytes ?? null
    const isSigned = (...parts: Parameters<typeof verifyEd25519>) => verifyEd25519(...parts).valid
    return createLogReader({ key, witnesses: [], read, isSigned }, { load, save })
  }
  const dir = join(root, 'disk')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  for (const [file, bytes] of stored.files) writeFileSync(join(dir, file), bytes)
  const opened = await openDatabase({ url: join(dir, 'ledger.db') })
  try {
    const signed = (await findCheckpoint(opened.reader, 'signed'))?.size ?? 0
    const note = published.read('checkpoint')?.toString() ?? null
    for (const one of [note, seen]) {
      if (one !== null) expect(openCheckpoint(one, key).size).toBeLessThanOrEqual(signed)
    }
    // The files of the disk are a whole log.
    if (note !== null) await entriesOf(readerAfter(null))

    const answered = [...stored.answered].map((id) => promises.get(id) ?? [])
    const byMs = answered.map(([, , , , by = '']) => Date.parse(by))
    const nowMs = Math.max(0, ...byMs) - promisedMs
    const clock = { now: () => nowMs, monotonic: () => nowMs }
    // The start before it completes a log whose key is not named yet.
    await beginLog(opened, { key, sign })
    await localLog({ database: opened, files, signer: { key, sign }, clock }).grow()
    const entries = await entriesOf(readerAfter(seen))
    const logged = new Map(
      entries.map(({ kind, id, sha256, at }) => [`${kind} ${id} ${sha256}`, at]),
    )
    for (const [, , name = '', sha256 = '', by = ''] of answered) {
      const at = logged.get(`${name} ${sha256}`) ?? 'never'
      expect(at <= by, `${name} is in the log at ${at}, promised by ${by}`).toBe(true)
    }
    return entries.length
  } catch (error) {
    throw new Error(`${stored.name}; log: ${published.name}`, { cause: error })
  } finally {
    await opened.close()
  }
}

test(
  'after a power cut at any flush the log continues what readers saw, and keeps every promise',
  async () => {
    const promises = await record()
    const signer = await loadLogSigner(join(dataDir, 'keys'), null)
    const sizes = new Set<number>()
    let cuts = 0
    for (const cut of cutsOf(readFileSync(tracePath, 'utf8').split('\n'))) {
      sizes.add(await expectContinued(cut, signer, promises))
      cuts += 1
    }
    expect(Math.max(...sizes)).toBeGreaterThan(256)
    expect(promises.size).toBe(groups * perGroup)
    process.stdout.write(`${cuts} disks after cuts, with logs of ${sizes.size} sizes\n`)
  },
  timeoutMs,
)
