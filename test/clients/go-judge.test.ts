/** Go's packages of the checksum database verify what the builder publishes. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { noteSigner } from '../../src/auth/notes.ts'
import { signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { formatKey } from '../../src/core/tlog/note.ts'
import { queueEntries } from '../../src/db/log.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { beginLog, localDirectory, localLog } from '../support/publish-log.ts'
import { isRunnable, leavesNothingOut } from '../support/runnable.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('compiles a Go program')

const key = signingKeyFromSeed(new Uint8Array(32).fill(3))
const signer = noteSigner('ledger.test/log', key)

/** Debian's package `golang-golang-x-mod-dev`. */
const hasPackages = existsSync('/usr/share/gocode/src/golang.org/x/mod/sumdb/tlog')

describe.runIf(leavesNothingOut || (hasPackages && isRunnable('go')))('Go', () => {
  test('Go verifies checkpoint, consistency and every entry of a published log, and refuses a changed one', async () => {
    const [database, dir] = [await tempDatabase(), tempFolder()]
    await beginLog(database, signer)
    const log = localLog({ database, files: localDirectory(dir), signer })
    const older = join(dir, 'older')
    for (const [from, count] of [
      [0, 200],
      [200, 500],
    ] as const) {
      const entries = Array.from({ length: count }, (_, at) => ({
        kind: 'receipt' as const,
        id: `rcp_${from + at}`,
        sha256: 'ab'.repeat(32),
      }))
      await database.write((tx) => queueEntries(tx, entries))
      await log.grow()
      if (from === 0) copyFileSync(join(dir, 'log/checkpoint'), older)
    }
    const judge = () =>
      spawnSync(
        'go',
        ['run', 'test/judges/tlog.go', join(dir, 'log'), formatKey(signer.key), older],
        {
          encoding: 'utf8',
          env: {
            ...process.env,
            GO111MODULE: 'off',
            GOPATH: '/usr/share/gocode',
            GOCACHE: join(dir, 'go-cache'),
            GOFLAGS: '',
          },
        },
      )
    expect(judge()).toMatchObject({ stdout: '700 entries, consistent with 200\n', status: 0 })

    const tile = join(dir, 'log/tile/entries/001')
    const bytes = readFileSync(tile)
    bytes[40] = (bytes[40] ?? 0) ^ 1
    writeFileSync(tile, bytes)
    expect(judge().status).not.toBe(0)
  })
})
