import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { LockedError, withFileLock } from '../../../builder/publish/lock.ts'
import { loadKeyFile } from '../../../src/auth/key-file.ts'
import { noteSigner } from '../../../src/auth/notes.ts'
import { logOverHttp } from '../../../src/client/log-http.ts'
import { MissingFileError } from '../../../src/client/log.ts'
import { siteUrlOf } from '../../../src/client/prepare.ts'
import { hourMs, minuteMs, secondMs } from '../../../src/core/time.ts'
import { parseCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import { formatKey } from '../../../src/core/tlog/note.ts'
import { operand, option, requiredOption } from '../command.ts'
import type { Command } from '../command.ts'
import type { Input } from '../input.ts'
import type { Session } from '../session.ts'
import { witnessServer } from './listen.ts'
import { BrokenLogError, createWitness } from './witness.ts'

const units = { s: secondMs, m: minuteMs, h: hourMs }
const duration = z.string().regex(/^[1-9]\d{0,3}[smh]$/, 'must be a time such as 90s, 5m or 1h')

export const witnessCommand: Command = {
  words: 'witness',
  summary: 'Follow a log, keep a copy of it, and cosign what holds',
  description:
    'Verifies signature, consistency, every entry and the evidence that it names, stores them in the folder, and then cosigns the checkpoint there. Static hosting can serve its part `log` as a mirror. What is missing delays the cosignature. Exits with 1 when the log has forked or an entry does not hold, also with --every and --listen; the signed checkpoints, which prove it, are kept in the folder.\nThe cosignature says that this witness has seen the whole log up to this checkpoint, that its entries hold, and that no checkpoint which it saw before contradicts it.',
  args: {
    url: operand('address of the ledger'),
    vkey: requiredOption('key', 'verifier key of the log, from /log/vkey and from another source'),
    dir: requiredOption('path', 'folder of the key of the witness and of the copy (`log`)'),
    every: option(
      'time',
      'repeat after this time, such as 5m (default: run once; with --listen 1h)',
      duration,
    ),
    listen: option(
      'port',
      'accept checkpoints from the log (c2sp.org/tlog-witness) on this port of 127.0.0.1',
      z.string().regex(/^\d{1,5}$/, 'must be a port'),
    ),
    name: option('name', 'name of the witness in its key (default: follows from its key)'),
  },
  run: async (session, input) => {
    const dir = input.required('dir')
    await mkdir(dir, { recursive: true })
    try {
      // Two processes could cosign two checkpoints that contradict each other.
      return await withFileLock(join(dir, 'lock'), () => runWitness(session, input, dir))
    } catch (error) {
      const isExplained =
        error instanceof BrokenLogError ||
        error instanceof MissingFileError ||
        error instanceof LockedError
      if (!isExplained) throw error
      session.warn(`${error.message}\n`)
      return 1
    }
  },
}

async function runWitness(session: Session, input: Input, dir: string): Promise<number> {
  const url = siteUrlOf(input.required('url'))
  const source = logOverHttp(session, `${url}/log`, { vkey: input.required('vkey') })
  const key = await loadKeyFile(join(dir, 'witness.pem'), session.random)
  const name = input.text('name') ?? `${source.key.name}/witness/${key.kid}`
  const signer = noteSigner(name, 'witness', key)
  const witness = await createWitness({ ...session, source, url, dir, signer })
  session.warn(`key of this witness: ${formatKey(signer.key)}\n`)
  const ended = new AbortController()
  const end = (error: Error) => ended.abort(error)
  const port = input.text('listen')
  const server = port === undefined ? null : witnessServer(witness, session.warn, end)
  server?.once('error', end).listen(Number(port), '127.0.0.1')
  const every = input.text('every') ?? (server === null ? null : '1h')
  const pauseMs = every === null ? null : Number.parseInt(every, 10) * unitOf(every)
  try {
    for (;;) {
      try {
        const note = await witness.inTurn(() => witness.follow())
        session.print({ checkpoint: note }, `size ${parseCheckpoint(note)?.size} cosigned\n`)
      } catch (error) {
        if (error instanceof BrokenLogError || pauseMs === null) throw error
        // The ledger may be away for a while.
        session.warn(`${error instanceof Error ? error.message : String(error)}\n`)
      }
      if (pauseMs === null) return 0
      await session.clock.sleep(pauseMs, ended.signal).catch(() => undefined)
      ended.signal.throwIfAborted()
    }
  } finally {
    server?.close()
  }
}

function unitOf(text: string): number {
  const [, unit] = Object.entries(units).find(([name]) => text.endsWith(name)) ?? []
  return unit ?? secondMs
}
