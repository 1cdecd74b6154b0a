/** Signs the notes of a log, and opens its checkpoints. */
import { join } from 'node:path'

import { ml_dsa44 as mlDsa44 } from '@noble/post-quantum/ml-dsa.js'

import { badSignature, checkpointText, readSignedCheckpoint } from '../core/tlog/checkpoint.ts'
import type { OpenedCheckpoint } from '../core/tlog/checkpoint.ts'
import { emptyRoot } from '../core/tlog/merkle.ts'
import { formatNote, signatureLine } from '../core/tlog/note.ts'
import type { NoteKey } from '../core/tlog/note.ts'
import { verifyEd25519 } from './ed25519.ts'
import { loadKeyFile } from './key-file.ts'
import type { KeyMaker } from './key-file.ts'
import { signBytes } from './signing-key.ts'
import type { SigningKey } from './signing-key.ts'

export interface NoteSigner {
  readonly key: NoteKey
  /** Returns a line of the note. */
  readonly sign: (text: string) => string
}

/** Signs as a log. */
export function noteSigner(name: string, signingKey: SigningKey): NoteSigner {
  const key = { name, type: 'log', publicKey: signingKey.publicKey } as const
  return {
    key,
    sign: (text) => signatureLine(key, signBytes(signingKey, Buffer.from(text))),
  }
}

export const logKeyFile = 'log.pem'

/** Creates the key of the log if there is none. Its name is the log's permanent name. @throws UnusableFileError */
export async function loadLogSigner(
  keysDir: string,
  maker: KeyMaker,
  path = join(keysDir, logKeyFile),
): Promise<NoteSigner> {
  const key = await loadKeyFile(path, maker)
  return noteSigner(`agent-income-ledger/log/${key.kid}`, key)
}

export function signCheckpoint(signer: NoteSigner, size: number, root: Uint8Array) {
  const text = checkpointText({ origin: signer.key.name, size, root })
  return { size, note: formatNote({ text, signatures: [signer.sign(text)] }) }
}

/** Stored in the database of a new ledger, which thereby knows its log. */
export const emptyCheckpoint = (signer: NoteSigner) => signCheckpoint(signer, 0, emptyRoot())

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
    const isGood =
      key.type === 'mlDsaWitness'
        ? mlDsa44.verify(signature, message, key.publicKey)
        : verifyEd25519(message, signature, key.publicKey).valid
    if (!isGood) throw badSignature(key)
  }
  return checkpoint
}
