/** Signed notes (c2sp.org/signed-note) with Ed25519 keys of logs and witnesses (c2sp.org/tlog-cosignature). */
import { sha256 } from '@noble/hashes/sha2'

import { fromBase64, toBase64 } from '../base64.ts'
import { bytesToHex } from '../hex.ts'
import { isSame } from './merkle.ts'

const idLength = 4
const keyLength = 32
const signatureLength = 64
const timeLength = 8
const utf8 = new TextEncoder()

/** The type of a key: what its signatures cover. */
export const keyTypes = { log: 1, witness: 4 } as const

export interface NoteKey {
  readonly name: string
  readonly type: keyof typeof keyTypes
  /** Ed25519. */
  readonly publicKey: Uint8Array
}

export interface Note {
  /** Ends with a line feed. */
  readonly text: string
  /** Lines of signatures, without their line feeds. */
  readonly signatures: readonly string[]
}

/** A signature and the message that it covers. `time`: Unix seconds; null for signatures of logs. */
export interface NoteSignature {
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly time: number | null
}

export function keyId({ name, type, publicKey }: NoteKey): Uint8Array {
  const bytes = [...utf8.encode(`${name}\n`), keyTypes[type], ...publicKey]
  return sha256(Uint8Array.from(bytes)).subarray(0, idLength)
}

/** `<name>+<key id>+<base64 of type and key>` */
export function formatKey(key: NoteKey): string {
  const bytes = Uint8Array.of(keyTypes[key.type], ...key.publicKey)
  return `${key.name}+${bytesToHex(keyId(key))}+${toBase64(bytes)}`
}

/** Null for malformed keys, keys of another type, and keys whose id does not match. */
export function parseKey(text: string): NoteKey | null {
  const [, name = '', base64 = ''] = /^([^\s+]+)\+[0-9a-f]{8}\+(\S+)$/u.exec(text) ?? []
  const bytes = fromBase64(base64)
  if (bytes?.length !== 1 + keyLength) return null
  const type = bytes[0] === keyTypes.log ? 'log' : 'witness'
  const key = { name, type, publicKey: bytes.subarray(1) } as const
  return formatKey(key) === text ? key : null
}

export function formatNote({ text, signatures }: Note): string {
  return `${text}\n${signatures.map((line) => `${line}\n`).join('')}`
}

export function parseNote(note: string): Note | null {
  const [, text, lines = ''] = /^((?:.|\n)*\n)\n((?:— [^\s+]+ \S+\n)+)$/u.exec(note) ?? []
  // Programs may read other control characters differently.
  // oxlint-disable-next-line no-control-regex -- see above
  if (text === undefined || /[\u0000-\u0009\u000b-\u001f]/.test(note)) return null
  return { text, signatures: lines.split('\n').slice(0, -1) }
}

/** The signature of a log. */
export function signatureLine(key: NoteKey, signature: Uint8Array): string {
  return `— ${key.name} ${toBase64(Uint8Array.of(...keyId(key), ...signature))}`
}

/** The signatures of a note that name this key. The caller verifies each of them; an invalid one makes the note invalid. */
export function signaturesBy(key: NoteKey, { text, signatures }: Note): readonly NoteSignature[] {
  const id = keyId(key)
  return signatures.flatMap((line) => {
    const [, name, base64 = ''] = line.split(' ')
    const bytes = fromBase64(base64)
    if (name !== key.name || bytes === null || !isSame(bytes.subarray(0, idLength), id)) return []
    const stampLength = key.type === 'witness' ? timeLength : 0
    // A signature of another length cannot be valid.
    if (bytes.length !== idLength + stampLength + signatureLength) {
      return [{ message: new Uint8Array(), signature: new Uint8Array(), time: null }]
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    const time = stampLength === 0 ? null : Number(view.getBigUint64(idLength))
    const signature = bytes.subarray(idLength + stampLength)
    const message = time === null ? text : `cosignature/v1\ntime ${time}\n${text}`
    return [{ message: utf8.encode(message), signature, time }]
  })
}
