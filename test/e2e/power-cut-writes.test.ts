/** Checks every disk that a power cut at any flush of the recorded service could leave. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'
import { runCommand } from '../support/program.ts'
import { randomFrom } from '../support/random.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { boardReceipt, installBoardProgram } from './board.ts'
import { sendReceipt } from './clients.ts'
import { addressOf, useProgram } from './ledger.ts'
import { disksAfterCuts, readTrace, tracedBytes, tracedCalls } from './recorded-disk.ts'
import type { Disk } from './recorded-disk.ts'
import { expectWholeReceipts } from './whole-receipts.ts'

allowSlowTests('starts the compiled program')

const clients = 4
const receipts = 400
const seed = 20_261_121
const timeoutMs = 600_000

const program = useProgram(installBoardProgram)
let root: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ledger-power-cut-'))
})
afterAll(() => {
  rmSync(root, { recursive: true, force: true })
})

/** Runs the service under strace while clients post. Returns the acknowledged receipts. */
async function record(tracePath: string, dataDir: string): Promise<ReadonlySet<string>> {
  const traced = ['-f', '-y', '-xx', '-s', String(tracedBytes), '-e', `trace=${tracedCalls}`]
  const quiet = ['-qq', '--seccomp-bpf', '-e', 'signal=none', '-o', tracePath]
  const strace = runCommand('strace', [...traced, ...quiet, process.execPath, program.service], {
    DATA_DIR: dataDir,
    PUBLIC_DIR: join(root, 'public'),
    PORT: '0',
    LIMITS: 'off',
    POLL: 'off',
    BUILDER: 'off',
  })
  const url = await addressOf(strace)
  const answered = new Set<string>()
  let made = 0
  const client = async (): Promise<void> => {
    while (made < receipts) {
      made += 1
      const answer = await sendReceipt(url, await boardReceipt(made))
      expect(answer.status).toBe(201)
      if (answer.receiptId !== null) answered.add(answer.receiptId)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const service = readFileSync(`/proc/${strace.pid}/task/${strace.pid}/children`, 'utf8').trim()
  process.kill(Number(service), 'SIGTERM')
  await strace.ended
  return answered
}

/** Expects every acknowledged receipt on a disk, stored once and with its reputation entry. */
async function expectWhole(disk: Disk): Promise<void> {
  const dir = join(root, 'disk')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  for (const [file, bytes] of disk.files) writeFileSync(join(dir, file), bytes)
  const database = await openDatabase({ url: join(dir, 'ledger.db') })
  try {
    const stored = await expectWholeReceipts(database)
    expect([...disk.answered].filter((id) => !stored.has(id))).toEqual([])
  } catch (error) {
    throw new Error(disk.name, { cause: error })
  } finally {
    await database.close()
  }
}

test(
  'after a power cut at any flush every acknowledged receipt is stored once, with its reputation entry',
  async () => {
    const tracePath = join(root, 'trace')
    const dataDir = join(root, 'data')
    const answered = await record(tracePath, dataDir)
    const events = await readTrace(tracePath, dataDir)
    const recorded = events.flatMap((event) => (event.kind === 'answer' ? event.receiptIds : []))
    expect(new Set(recorded)).toEqual(answered)
    expect(answered.size).toBe(receipts)

    let disks = 0
    let withAnswers = 0
    for (const disk of disksAfterCuts(events, randomFrom(seed))) {
      await expectWhole(disk)
      disks += 1
      if (disk.answered.size > 0) withAnswers += 1
    }
    const flushes = events.filter(({ kind }) => kind === 'sync').length
    // The recording contains checkpoints.
    expect(events.some((event) => event.kind === 'write' && event.file === 'ledger.db')).toBe(true)
    expect(withAnswers).toBeGreaterThan(100)
    process.stdout.write(
      `${flushes} flushes, ${disks} disks, ${withAnswers} of them after answers\n`,
    )
  },
  timeoutMs,
)
