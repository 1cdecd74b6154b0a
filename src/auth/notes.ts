/** Signs and opens notes of logs and witnesses. */
import { join } from 'node:path'

import { badSignature, readSignedCheckpoint } from '../core/tlog/checkpoint.ts'
import type { OpenedCheckpoint } from '../core/tlog/checkpoint.ts'
import { signatureLine, signedMessage } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { verifyEd25519 } from './ed25519.ts'
import { loadKeyFile } from './key-file.ts'
import type { KeyMaker } from './key-file.ts'
import { signBytes } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

export interface NoteSigner {
  readonly key: NoteKey
  /** Returns a line of the note. `time`: Unix seconds for a witness, null for a log. */
  readonly sign: (text: string, time: number | null) => string
}

export function noteSigner(
  name: string,
  type: NoteKey['type'],
  signingKey: SigningKey,
): NoteSigner {
  const key = { name, type, publicKey: signingKey.publicKey }
  return {
    key,
    sign: (text, time) => {
      const signature = signBytes(signingKey, signedMessage(text, time))
      return signatureLine(key, { signature, time })
    },
  }
}

export const logKeyFile = 'log.pem'

/** Creates the key of the log if there is none. The log has the name of its key for good. @throws Error like `loadKeyFile` */
export async function loadLogSigner(keysDir: string, maker: KeyMaker): Promise<NoteSigner> {
  const key = await loadKeyFile(join(keysDir, logKeyFile), maker)
  return noteSigner(`agent-income-ledger/log/${key.kid}`, 'log', key)
}

/**
 * Verifies the signature of the log, and those of the witnesses that have signed.
 * @throws NoteError if the note is malformed, not signed by the log, or has a bad signature by one of the keys
 */
export function openCheckpoint(
  note: string,
  log: NoteKey,
  witnesses: readonly NoteKey[] = [],
): OpenedCheckpoint {
  const { checkpoint, signatures } = readSignedCheckpoint(note, log, witnesses)
  for (const { key, message, signature } of signatures) {
    if (!verifyEd25519(message, signature, key.publicKey).valid) throw badSignature(key)
  }
  return checkpoint
}
