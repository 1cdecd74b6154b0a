/** One part of a ledger is lost, and the runbook brings it back. Nothing contradicts what readers have seen. */
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { loadLogSigner } from '../../src/auth/notes.ts'
import { SIGNED_WINDOW_MS } from '../../src/auth/timestamps.ts'
import { formatKey } from '../../src/core/tlog/note.ts'
import { findCheckpoint } from '../../src/db/log.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { cosignerOf, serveWitness } from '../support/witness.ts'
import { installBoardProgram, signedAgain } from './board.ts'
import { sendReceipt } from './clients.ts'
import { newLedger, stop, useProgram } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import {
  buildOnce,
  expectBuilt,
  expectLonger,
  follow,
  lostLedger,
  runbook,
  sizeIn,
} from './runbook.ts'

allowSlowTests('starts the compiled program')

const program = useProgram(installBoardProgram)
let lost: Awaited<ReturnType<typeof lostLedger>>

beforeAll(async () => {
  lost = await lostLedger(program, {})
  await follow(program, lost.ledger, lost.root, runbook.copyLog)
})
afterAll(() => lost.ledger.remove())

function newDisk(settings: Readonly<Record<string, string>> = {}): Ledger {
  const ledger = newLedger(program, { POLL: 'off', ...settings })
  onTestFinished(ledger.remove)
  return ledger
}

const run = async (ledger: Ledger, commands: string) =>
  await follow(program, ledger, lost.root, commands)

const signedIn = async ({ withDatabase }: Ledger) =>
  await withDatabase(async ({ reader }) => await findCheckpoint(reader, 'signed'))

/** The next build fails with this reason, and neither signs nor publishes anything. */
async function expectBlocked(ledger: Ledger, reason: string): Promise<string> {
  const noteOf = () => {
    const path = join(ledger.publicDir, 'log/checkpoint')
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  }
  const before = noteOf()
  const { code, output } = await buildOnce(ledger)
  expect(output).toContain(reason)
  expect(code).toBe(1)
  expect(noteOf()).toBe(before)
  return output
}

/** The log continues for a reader who saw it as in `state`, with a higher version of the set. */
async function expectContinued(ledger: Ledger, state: string, version: number): Promise<void> {
  await expectBuilt(ledger)
  await expectLonger(ledger, state)
  expect(ledger.manifest().version).toBeGreaterThan(version)
}

test('if only the keys are lost, nothing starts until they are put back', async () => {
  const ledger = newDisk()
  cpSync(lost.ledger.dataDir, ledger.dataDir, { recursive: true })
  cpSync(lost.ledger.publicDir, ledger.publicDir, { recursive: true, verbatimSymlinks: true })
  for (const folder of ['keys', 'secrets']) {
    rmSync(join(ledger.dataDir, folder), { recursive: true })
  }
  for (const started of [ledger.service(), ledger.builder(['--once'])]) {
    expect(await started.ended).toBe(78)
    expect(started.output()).toContain('restore or mount the folder')
  }
  const { version } = ledger.manifest()
  await run(ledger, runbook.putKeysBack)
  await expectContinued(ledger, lost.seenLast, version - 1)
})

test.each(['lost', 'left'] as const)(
  'if only the database is lost and the published log is %s, nothing is signed until the database is restored',
  async (publishedLog) => {
    const ledger = newDisk()
    for (const folder of ['keys', 'secrets']) {
      cpSync(join(lost.ledger.dataDir, folder), join(ledger.dataDir, folder), { recursive: true })
    }
    if (publishedLog === 'left') {
      cpSync(lost.ledger.publicDir, ledger.publicDir, { recursive: true, verbatimSymlinks: true })
    }
    await expectBlocked(ledger, 'its key is older than the database: check DATABASE_URL')
    expect(await signedIn(ledger)).toBeNull()
    const { out } = await run(ledger, runbook.putDatabaseBack)
    expect(out).toContain('ledger.db.before-restore-')
    if (publishedLog === 'lost') await run(ledger, runbook.putLogBack)
    await expectContinued(ledger, lost.seenLast, lost.ledger.manifest().version)
  },
)

test('if all copies of the log are lost, it continues from the end that the operator accepts by name and size', async () => {
  const ledger = newDisk()
  await run(ledger, runbook.restore)
  const output = await expectBlocked(ledger, 'but the published log is lost')
  const [, name = '', size = ''] = /admin log accept (\S+) (\d+)/.exec(output) ?? []
  expect(Number(size)).toBe(sizeIn(lost.seenAtBackup))
  await run(ledger, runbook.accept.replace('<name>', name).replace('<size>', size))
  await expectContinued(ledger, lost.seenAtBackup, 1)
})

/** A new disk with the backup, and a witness who has seen the log with this checkpoint. */
async function diskWithWitness(note: string): Promise<Ledger> {
  const { key } = await loadLogSigner(join(lost.ledger.dataDir, 'keys'), null)
  const witness = await serveWitness(key, cosignerOf('witness.test/51', 51))
  const shown = await fetch(`${witness.url}/add-checkpoint`, {
    method: 'POST',
    body: `old 0\n\n${note}`,
  })
  expect(shown.status).toBe(200)
  const ledger = newDisk({ WITNESSES: `${formatKey(witness.key)} ${witness.url}` })
  await run(ledger, runbook.restore)
  return ledger
}

test('without the published log, a ledger signs nothing although a witness has seen no more than the backup has', async () => {
  const ledger = await diskWithWitness(readFileSync(lost.seenAtBackup, 'utf8'))
  const before = await signedIn(ledger)
  await expectBlocked(ledger, 'but the published log is lost')
  expect(await signedIn(ledger)).toEqual(before)
  await run(ledger, runbook.putLogBack)
  await expectContinued(ledger, lost.seenLast, lost.ledger.manifest().version)
})

test('a ledger signs nothing if a witness has seen more than the backup has, until the published log is put back', async () => {
  const ledger = await diskWithWitness(readFileSync(lost.seenLast, 'utf8'))
  const before = await signedIn(ledger)
  const seen = sizeIn(lost.seenLast)
  await expectBlocked(ledger, `witness.test/51 has seen ${seen}`)
  expect(await signedIn(ledger)).toEqual(before)
  await run(ledger, runbook.putLogBack)
  await expectContinued(ledger, lost.seenLast, lost.ledger.manifest().version)
})

test('a receipt that is signed again after the restore fails the job log until the operator drops it, and the rest is logged', async () => {
  const ledger = newDisk()
  await run(ledger, runbook.restore)
  await run(ledger, runbook.putLogBack)
  const again = await signedAgain(program, 2, SIGNED_WINDOW_MS)
  const { service, url } = await ledger.start({ BUILDER: 'off' })
  expect(await sendReceipt(url, again)).toMatchObject({ status: 201 })
  await stop(service)
  const { code, output } = await buildOnce(ledger)
  expect(code).toBe(1)
  expect(output).toContain('with different content; such rows in log_queue: 1')
  expect((await run(ledger, runbook.drop)).out).toContain('dropped')
  await expectContinued(ledger, lost.seenLast, lost.ledger.manifest().version)
})
