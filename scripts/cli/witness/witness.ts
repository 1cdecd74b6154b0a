/** A witness accepts a checkpoint only if it has the whole log, and the log holds. */
import { sha256Hex } from '../../../src/auth/messages.ts'
import type { NoteSigner } from '../../../src/auth/notes.ts'
import { WrongEntryError } from '../../../src/client/log-audit.ts'
import { InconsistentLogError, LogError, createLogReader } from '../../../src/client/log.ts'
import type { CheckedLog, LogSource } from '../../../src/client/log.ts'
import { readIfFound } from '../../../src/client/transport.ts'
import type { TransportDeps } from '../../../src/client/transport.ts'
import { createSerialQueue } from '../../../src/core/concurrency.ts'
import type { Clock } from '../../../src/core/deps.ts'
import { manifestSchema } from '../../../src/core/documents.ts'
import { evidencePath } from '../../../src/core/evidence.ts'
import { secondMs } from '../../../src/core/time.ts'
import { NoteError, parseCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import type { LogEntry } from '../../../src/core/tlog/entry.ts'
import { openMirror } from './mirror.ts'

export interface WitnessDeps extends TransportDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly source: LogSource
  /** The address of the ledger. */
  readonly url: string
  readonly dir: string
  readonly signer: NoteSigner
}

export type Witness = Awaited<ReturnType<typeof createWitness>>

/** The log breaks its promises; the evidence is in the folder. */
export class BrokenLogError extends Error {
  override readonly name = 'BrokenLogError'
}

export async function createWitness(deps: WitnessDeps) {
  const { source, dir, signer, clock, url } = deps
  let mirror = await openMirror(dir)

  async function requireEvidence(entry: LogEntry): Promise<void> {
    if (entry.kind !== 'poll') return
    const bytes = await readIfFound(deps, `${url}${evidencePath(entry.sha256)}`)
    if (bytes !== null && sha256Hex(bytes) === entry.sha256) return
    const state = bytes === null ? 'is missing' : 'has other bytes'
    throw new LogError('evidence', `the evidence ${entry.sha256} of the poll ${entry.id} ${state}`)
  }

  /** A newer manifest may not be in the log yet, and caches may have an older one. */
  async function requireManifest(): Promise<void> {
    const bytes = await readIfFound(deps, `${url}/snapshot.json`)
    if (bytes === null) return
    const { version } = manifestSchema.parse(JSON.parse(Buffer.from(bytes).toString()))
    const logged = mirror.manifests().get(version)
    const found = sha256Hex(bytes)
    if (logged === undefined || logged === found) return
    throw new LogError(
      'manifest',
      `/snapshot.json of version ${version} has the SHA-256 ${found}, but the log has ${logged}`,
    )
  }

  /** Returns what the folder shows: the checkpoint with the cosignature. */
  async function accept(log: CheckedLog): Promise<string> {
    const present = await mirror.checkpoint()
    if (present !== null && (parseCheckpoint(present)?.size ?? 0) >= log.size) return present
    await mirror.grow(log, requireEvidence)
    await requireManifest()
    const { note } = log.checkpoint
    const text = note.slice(0, note.indexOf('\n\n') + 1)
    const time = Math.floor(clock.now() / secondMs)
    const cosigned = `${note}${signer.sign(text, time)}\n`
    await mirror.write('checkpoint', cosigned)
    return cosigned
  }

  async function keep(name: string, notes: readonly string[]): Promise<string> {
    const digest = sha256Hex(notes.join('\n')).slice(0, 16)
    for (const [at, note] of notes.entries()) {
      await mirror.write(`broken/${name}-${digest}-${at + 1}`, note)
    }
    return `${dir}/broken/${name}-${digest}-*`
  }

  return {
    signer,
    log: source.key,
    checkpoint: () => mirror.checkpoint(),
    /** Checking and storing must not overlap. */
    inTurn: createSerialQueue(),
    /** To be called in turn. Follows the log to the newest checkpoint, or to `submitted`. @throws BrokenLogError */
    follow: async (submitted?: string): Promise<string> => {
      const read: LogSource['read'] = async (path) => {
        if (path !== 'checkpoint' || submitted === undefined) return await source.read(path)
        return Buffer.from(submitted)
      }
      // The folder keeps a checkpoint only after its entries.
      const seen = { load: () => mirror.checkpoint(), save: () => Promise.resolve() }
      try {
        return await accept(await createLogReader({ ...source, read }, seen).check())
      } catch (error) {
        mirror = await openMirror(dir)
        if (error instanceof InconsistentLogError) {
          const kept = await keep('fork', error.notes)
          throw new BrokenLogError(
            `${error.message}\nBoth checkpoints are in ${kept}:\n\n${error.notes.join('\n')}`,
            { cause: error },
          )
        }
        const isWrong = error instanceof LogError || error instanceof WrongEntryError
        if (!isWrong && !(error instanceof NoteError)) throw error
        const note = submitted ?? String((await source.read('checkpoint')) ?? '')
        const kept = await keep('wrong', [note])
        throw new BrokenLogError(`${error.message}\nThe checkpoint is in ${kept}`, { cause: error })
      }
    },
  }
}
