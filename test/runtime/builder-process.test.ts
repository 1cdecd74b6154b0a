import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { expect, test } from 'vitest'

import { createLog } from '../../src/core/log.ts'
import { startBuilder } from '../../src/runtime/builder-process.ts'
import { systemClock } from '../../src/runtime/runtime.ts'
import { gate } from '../db/temp-database.ts'

test('a builder that ignores SIGTERM is killed', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'ledger-builder-'))
  const file = join(dir, 'stubborn.mjs')
  await writeFile(
    file,
    "process.on('SIGTERM', () => undefined); process.send('published'); setInterval(() => undefined, 1000)",
  )
  const running = gate()
  const waits: number[] = []
  const builder = startBuilder({
    entry: pathToFileURL(file),
    clock: {
      ...systemClock,
      sleep: (delayMs) => {
        waits.push(delayMs)
        return Promise.resolve()
      },
    },
    log: createLog({
      level: 'error',
      now: Date.now,
      write: () => undefined,
      defer: (run) => run(),
    }),
    onPublished: running.open,
  })
  await running.opened
  await builder.stop()
  expect(waits).toEqual([15_000])
  await rm(dir, { recursive: true })
})
