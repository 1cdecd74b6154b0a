/** The sequencer is killed at every file operation. What readers see continues what they saw, and nothing is lost. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { noteSigner } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { createLogAudit } from '../../src/client/log-audit.ts'
import { createLogReader } from '../../src/client/log.ts'
import { readIfExists } from '../../src/files/durable.ts'
import { tempFolder } from '../db/temp-database.ts'
import { compile } from '../support/compile.ts'
import type { Compiled } from '../support/compile.ts'
import { newDatabaseIn } from '../support/new-database.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('kills a process at each of its operations')

const childFile = 'test/builder/log/log-child.ts'
const killHook = 'test/support/kill-hook.ts'
const perRound = 130
const rounds = 2
let child: Compiled

beforeAll(() => {
  child = compile(childFile, killHook)
})
afterAll(() => child.remove())

/** Returns true if the process ended by itself, and whether its entries were queued. */
function run(args: readonly string[], killAt: number) {
  const hook = pathToFileURL(child.scriptOf(killHook)).href
  const { status, signal, stdout } = spawnSync(
    process.execPath,
    ['--import', hook, child.scriptOf(childFile), ...args],
    { encoding: 'utf8', env: { ...process.env, KILL_AT: String(killAt) } },
  )
  if (signal !== 'SIGKILL') expect(status).toBe(0)
  return { hasEnded: signal === null, isQueued: stdout.includes('queued') }
}

test('a sequencer that is killed at any step forks nothing and loses nothing', async () => {
  const dir = tempFolder()
  const url = await newDatabaseIn(tempFolder())
  const { key } = noteSigner('ledger.test/log', signingKeyFromSeed(new Uint8Array(32).fill(3)))
  const reader = createLogReader({
    key,
    witnesses: [],
    read: async (path) => await readIfExists(join(dir, 'log', path)),
    isSigned: (...parts) => verifyEd25519(...parts).valid,
  })
  let queued = 0
  let kills = 0
  // Each round begins at another width of the last tile.
  for (let round = 0; round < rounds; round += 1) {
    for (let killAt = 1; ; killAt += 1) {
      const { hasEnded, isQueued } = run([url, dir, `${round}_${killAt}`], killAt)
      if (isQueued) queued += perRound
      if (hasEnded) break
      kills += 1
      // No checkpoint is there before the first one.
      if ((await readIfExists(join(dir, 'log/checkpoint'))) === null) continue
      const { size } = await reader.check()
      expect(size).toBeLessThanOrEqual(queued)
    }
    const { size, entriesOf } = await reader.check()
    const audit = createLogAudit(new Uint8Array(32))
    for (let at = 0; at * 256 < size; at += 1) {
      for (const bytes of await entriesOf(at)) audit.add(bytes)
    }
    await audit.settle(entriesOf)
    expect(size).toBe(queued)
  }
  expect(readFileSync(join(dir, 'log/checkpoint'), 'utf8')).toContain(`\n${queued}\n`)
  process.stdout.write(`the sequencer was killed ${kills} times\n`)
  expect(kills).toBeGreaterThan(40)
})
