/** Requests cosignatures of the newest checkpoint from witnesses (c2sp.org/tlog-witness), and publishes it with them. */
import { openCheckpoint } from '../../src/auth/notes.ts'
import { toBase64 } from '../../src/core/base64.ts'
import type { Clock, Fetch, Log } from '../../src/core/deps.ts'
import { redact } from '../../src/core/redact.ts'
import { secondMs } from '../../src/core/time.ts'
import { parseNumber } from '../../src/core/tlog/checkpoint.ts'
import { consistencyProof } from '../../src/core/tlog/merkle.ts'
import type { NoteKey } from '../../src/core/tlog/note.ts'
import type { KnownWitness, WitnessPolicy } from '../../src/core/tlog/policy.ts'
import { findCheckpoint, nodesIn } from '../../src/db/log.ts'
import type { StoredCheckpoint } from '../../src/db/log.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { readLimited } from '../../src/outbound/read-limited.ts'
import { withTimeout } from '../../src/outbound/timeout.ts'
import type { LedgerLog } from './log.ts'
import type { AskSizes } from './restore.ts'

export interface WitnessesDeps {
  readonly database: Pick<OpenDatabase, 'reader'>
  readonly clock: Pick<Clock, 'now'>
  readonly fetch: Fetch
  readonly log: Log
  readonly signal: AbortSignal
  readonly logKey: NoteKey
  readonly policy: WitnessPolicy
  readonly ledgerLog: Pick<LedgerLog, 'cosign' | 'isCompared'>
}

const timeoutMs = 10 * secondMs
const maxAnswerBytes = 16 * 1024

type AskDeps = Pick<WitnessesDeps, 'database' | 'fetch' | 'signal'>
type Checkpoint = Omit<StoredCheckpoint, 'name'>

async function submit(deps: AskDeps, url: string, old: number, { size, note }: Checkpoint) {
  const { database, fetch, signal } = deps
  const hashes = await consistencyProof(old, size, nodesIn(database.reader, size))
  const body = [`old ${old}`, ...hashes.map(toBase64), '', note].join('\n')
  return await withTimeout({ timeoutMs, signal }, async (limited) => {
    const init = { method: 'POST', body, redirect: 'error', signal: limited } as const
    const response = await fetch(`${url}/add-checkpoint`, init)
    const bytes = await readLimited(response, maxAnswerBytes)
    return { status: response.status, text: Buffer.from(bytes).toString('utf8') }
  })
}

/** Witnesses that have seen entries refuse a checkpoint of size 0 with the size that they have seen. */
export function createAskSizes(deps: AskDeps & Pick<WitnessesDeps, 'policy'>): AskSizes {
  return async (empty) => {
    const asked = deps.policy.witnesses.map(async ({ url, key: { name } }) => {
      const answer = await submit(deps, url, 0, empty).catch(() => {
        deps.signal.throwIfAborted()
        return null
      })
      const size = answer?.status === 409 ? parseNumber(answer.text.trim()) : null
      return size === null ? [] : [{ name, size }]
    })
    return (await Promise.all(asked)).flat()
  }
}

/** Returns such as `2 of 3 witnesses cosigned size 1200`; null if there is nothing to do. Never fails. */
export function createCosigning(deps: WitnessesDeps): () => Promise<string | null> {
  const { database, log, logKey, ledgerLog } = deps
  const { witnesses, quorum } = deps.policy
  const knownSizes = new Map<string, number>()

  return async () => {
    const published = await findCheckpoint(database.reader, 'published')
    if (!ledgerLog.isCompared() || published === null || published.size === 0) return null
    const { cosigned } = openCheckpoint(published.note, logKey, keysOf(witnesses))
    const missing = witnesses.filter(({ key }) => cosigned.every((one) => one.key !== key))
    if (missing.length === 0) return null
    const lines = await Promise.all(missing.map((witness) => ask(witness, published)))
    const found = lines.filter((line) => line !== null)
    const count = witnesses.length - missing.length + found.length
    if (found.length > 0) await ledgerLog.cosign(published, found, count >= quorum)
    return `${count} of ${witnesses.length} witnesses cosigned size ${published.size}`
  }

  /** Returns the cosignature line, or null if the witness is unreachable or refuses. */
  async function ask(witness: KnownWitness, published: StoredCheckpoint): Promise<string | null> {
    const { url } = witness
    try {
      let answer = await submit(deps, url, knownSizes.get(url) ?? 0, published)
      if (answer.status === 409) {
        const size = parseNumber(answer.text.trim())
        if (size === null || size > published.size) {
          throw new Error(
            `it has seen size ${answer.text.trim()} of this log, which has ${published.size} entries`,
          )
        }
        answer = await submit(deps, url, size, published)
      }
      if (answer.status !== 200) throw new Error(`it answered ${answer.status}: ${answer.text}`)
      const line = cosignatureIn(answer.text, witness, published.note)
      knownSizes.set(url, published.size)
      return line
    } catch (error) {
      deps.signal.throwIfAborted()
      const reason = redact(error instanceof Error ? error.message : String(error)).slice(0, 300)
      log.warn('a witness did not cosign', { witness: witness.key.name, reason })
      return null
    }
  }

  function cosignatureIn(text: string, { key }: KnownWitness, note: string): string {
    // A witness may sign with several keys.
    const line = text
      .split('\n')
      .filter((one) => one.startsWith(`— ${key.name} `))
      .find((one) => openCheckpoint(`${note}${one}\n`, logKey, [key]).cosigned.length > 0)
    if (line === undefined) throw new Error('its answer has no cosignature by its key')
    return line
  }
}

const keysOf = (witnesses: readonly KnownWitness[]) => witnesses.map(({ key }) => key)
