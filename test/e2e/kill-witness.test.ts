/** The witness is killed at every file operation. Its folder never shows a cosignature of what it has not stored. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { expect, inject, test } from 'vitest'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { loadKeyFile } from '../../src/auth/key-file.ts'
import { noteSigner, openCheckpoint } from '../../src/auth/notes.ts'
import { createLogReader } from '../../src/client/log.ts'
import { readIfExists } from '../../src/files/durable.ts'
import { tempFolder } from '../db/temp-database.ts'
import { compiledIn } from '../support/compile.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import {
  createTestLog,
  logSigner,
  logVkey,
  serveTestLog,
  testEntries,
} from '../support/test-log.ts'

allowSlowTests('kills a process at each of its operations')

const { scriptOf } = compiledIn(inject('compiledProgram'))

/** Returns true if the witness ended by itself. */
async function run(url: string, dir: string, killAt: number): Promise<boolean> {
  const hook = pathToFileURL(scriptOf('test/support/kill-hook.ts')).href
  const args = ['witness', url, '--vkey', logVkey, '--dir', dir, '--name', 'witness.test']
  const child = spawn(
    process.execPath,
    ['--import', hook, scriptOf('scripts/cli/main.ts'), ...args],
    {
      stdio: 'ignore',
      env: { ...process.env, KILL_AT: String(killAt) },
    },
  )
  const ended: unknown[] = await once(child, 'exit')
  if (ended[1] !== 'SIGKILL') expect(ended).toEqual([0, null])
  return ended[1] === null
}

test('a witness that is killed at any step cosigns nothing that it has not stored, and goes on', async () => {
  const dir = tempFolder()
  const log = createTestLog()
  const { url } = await serveTestLog(() => log)
  const mirror = createLogReader({
    key: logSigner.key,
    witnesses: [],
    read: async (path) => await readIfExists(join(dir, 'log', path)),
    isSigned: (...parts) => verifyEd25519(...parts).valid,
  })
  let kills = 0
  let size = 0
  for (const count of [10, 300]) {
    await log.grow(testEntries(size, count))
    for (let killAt = 1; !(await run(url, dir, killAt)); killAt += 1) {
      kills += 1
      const note = await readIfExists(join(dir, 'log/checkpoint'))
      if (note === null) continue
      const { key } = noteSigner(
        'witness.test',
        'witness',
        await loadKeyFile(join(dir, 'witness.pem'), null),
      )
      const { cosigned } = openCheckpoint(note.toString(), logSigner.key, [key])
      expect(cosigned).toHaveLength(1)
      const stored = await mirror.check()
      expect([size, size + count]).toContain(stored.size)
      for (let at = 0; at * 256 < stored.size; at += 1) await stored.entriesOf(at)
    }
    size += count
    expect((await mirror.check()).size).toBe(size)
  }
  process.stdout.write(`the witness was killed ${kills} times\n`)
  expect(kills).toBeGreaterThan(20)
})
