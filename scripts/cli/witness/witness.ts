/** A witness accepts a checkpoint only if it has the whole log, and the log holds. */
import { join } from 'node:path'

import { sha256Hex } from '../../../src/auth/messages.ts'
import type { NoteSigner } from '../../../src/auth/notes.ts'
import {
  InconsistentLogError,
  LogError,
  MissingFileError,
  createLogReader,
} from '../../../src/client/log.ts'
import type { CheckedLog, LogSource } from '../../../src/client/log.ts'
import { readIfFound } from '../../../src/client/transport.ts'
import type { TransportDeps } from '../../../src/client/transport.ts'
import { createSerialQueue, mapConcurrent } from '../../../src/core/concurrency.ts'
import type { Clock, Random } from '../../../src/core/deps.ts'
import { manifestSchema } from '../../../src/core/documents.ts'
import { evidencePath } from '../../../src/core/evidence.ts'
import { secondMs } from '../../../src/core/time.ts'
import { NoteError, parseCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import type { OpenedCheckpoint } from '../../../src/core/tlog/checkpoint.ts'
import type { LogEntry } from '../../../src/core/tlog/entry.ts'
import { formatNote, parseNote, signatureLine, signaturesBy } from '../../../src/core/tlog/note.ts'
import { logPath } from '../../../src/core/tlog/paths.ts'
import { openMirror } from './mirror.ts'

export interface WitnessDeps extends TransportDeps {
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly random: Pick<Random, 'bytes'>
  readonly source: LogSource
  /** The address of the ledger. */
  readonly url: string
  /** The copy of the log is in its folder `log`. */
  readonly dir: string
  readonly signer: NoteSigner
}

export type Witness = Awaited<ReturnType<typeof createWitness>>

/** The log breaks its promises; the evidence is in the folder. */
export class BrokenLogError extends Error {
  override readonly name = 'BrokenLogError'
}

/** Bundles that are read at the same time. */
const reads = 8

export async function createWitness(deps: WitnessDeps) {
  const { source, dir, signer, clock, url, random } = deps
  let mirror = await openMirror(dir, random)

  async function requireEvidence(entry: LogEntry): Promise<void> {
    if (entry.kind !== 'poll') return
    const bytes = await readIfFound(deps, `${url}${evidencePath(entry.sha256)}`)
    if (bytes !== null && sha256Hex(bytes) === entry.sha256) return
    const named = `the evidence ${entry.sha256} of the poll ${entry.id}`
    if (bytes === null) throw new MissingFileError('evidence', `${named} is missing`)
    throw new LogError('evidence', `${named} has other bytes`)
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

  /** Only with the signatures of the log and of this witness: anybody can add lines to what is submitted. */
  function cosign({ note }: OpenedCheckpoint): string {
    const { text, signatures } = parseNote(note) ?? { text: '', signatures: [] }
    const byLog = signaturesBy(source.key, { text, signatures }).slice(0, 1)
    const lines = byLog.map((one) => signatureLine(source.key, one))
    const time = Math.floor(clock.now() / secondMs)
    return formatNote({ text, signatures: [...lines, signer.sign(text, time)] })
  }

  /** Returns what the folder shows: the checkpoint with the cosignature. */
  async function accept(log: CheckedLog): Promise<string> {
    const present = await mirror.checkpoint()
    const size = present === null ? 0 : (parseCheckpoint(present)?.size ?? 0)
    // A cache may have an older one.
    if (present !== null && size > log.size) return present
    try {
      await mirror.grow(log, (entries) => mapConcurrent(entries, reads, requireEvidence))
      await requireManifest()
      const cosigned = cosign(log.checkpoint)
      await mirror.conclude(size, cosigned)
      return cosigned
    } catch (error) {
      // The mirror may hold entries that no accepted checkpoint has.
      mirror = await openMirror(dir, random)
      throw error
    }
  }

  async function keep(name: string, notes: readonly string[]): Promise<string> {
    const digest = sha256Hex(notes.join('\n')).slice(0, 16)
    for (const [at, note] of notes.entries()) {
      await mirror.write(`broken/${name}-${digest}-${at + 1}`, note)
    }
    return join(dir, logPath(`broken/${name}-${digest}-*`))
  }

  async function reportFork(error: InconsistentLogError): Promise<BrokenLogError> {
    const { message, notes } = error
    const kept = await keep('fork', notes)
    const text = `${message}\nBoth checkpoints are in ${kept}:\n\n${notes.join('\n')}`
    return new BrokenLogError(text, { cause: error })
  }

  return {
    signer,
    log: source.key,
    checkpoint: () => mirror.checkpoint(),
    /** Checking and storing must not overlap. */
    inTurn: createSerialQueue(),
    /** Keeps both checkpoints. */
    reportFork,
    /** To be called in turn. Follows the log to the newest checkpoint, or to `submitted`. @throws BrokenLogError */
    follow: async (submitted?: string): Promise<string> => {
      let checked = submitted
      const read: LogSource['read'] = async (path) => {
        if (path !== 'checkpoint') return await source.read(path)
        if (submitted !== undefined) return Buffer.from(submitted)
        const bytes = await source.read(path)
        checked = Buffer.from(bytes ?? '').toString()
        return bytes
      }
      // The folder keeps a checkpoint only after its entries.
      const seen = { load: () => mirror.checkpoint(), save: () => Promise.resolve() }
      try {
        return await accept(await createLogReader({ ...source, read }, seen).check())
      } catch (error) {
        if (error instanceof InconsistentLogError) throw await reportFork(error)
        if (error instanceof MissingFileError) throw error
        if (!(error instanceof LogError) && !(error instanceof NoteError)) throw error
        const kept = await keep('wrong', [checked ?? ''])
        throw new BrokenLogError(`${error.message}\nThe checkpoint is in ${kept}`, { cause: error })
      }
    },
  }
}
