import { verifyEd25519 } from '../auth/ed25519.ts'
import { parseKey } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { CallError } from './errors.ts'
import type { LogSource } from './log.ts'
import { readIfFound } from './transport.ts'
import type { TransportDeps } from './transport.ts'

/** Verifier keys (c2sp.org/signed-note). */
export interface LogKeys {
  readonly vkey: string
  /** Each of them must have cosigned. */
  readonly witnesses?: readonly string[]
}

/** @throws CallError for a malformed key */
export function logOverHttp(
  deps: TransportDeps,
  url: string,
  { vkey, witnesses = [] }: LogKeys,
): LogSource {
  return {
    key: keyOf(vkey, 'log'),
    witnesses: witnesses.map((text) => keyOf(text, 'witness')),
    read: async (path) => await readIfFound(deps, `${url}/${path}`),
    isSigned: (...parts) => verifyEd25519(...parts).valid,
  }
}

function keyOf(text: string, type: NoteKey['type']): NoteKey {
  const key = parseKey(text.trim())
  if (key?.type === type) return key
  throw new CallError(`the key of a ${type} has the form <name>+<key id>+<base64>, as at /log/vkey`)
}
