/** Signed notes (c2sp.org/signed-note) with keys of logs and witnesses (c2sp.org/tlog-cosignature). */
import { sha256 } from '@noble/hashes/sha2'

import { fromBase64, toBase64 } from '../base64.ts'
import { entriesOf } from '../entries.ts'
import { bytesToHex } from '../hex.ts'
import { isSame } from './merkle.ts'

const idLength = 4
const timeLength = 8
const mostNameBytes = 255
const utf8 = new TextEncoder()

/** The types of keys: their first byte, and the lengths of a key and a signature. */
const keyTypes = {
  log: { byte: 1, keyLength: 32, signatureLength: 64 },
  witness: { byte: 4, keyLength: 32, signatureLength: 64 },
  mlDsaWitness: { byte: 6, keyLength: 1312, signatureLength: 2420 },
} as const

export interface NoteKey {
  readonly name: string
  readonly type: keyof typeof keyTypes
  /** ML-DSA-44 for `mlDsaWitness`, otherwise Ed25519. */
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
  const bytes = [...utf8.encode(`${name}\n`), keyTypes[type].byte, ...publicKey]
  return sha256(Uint8Array.from(bytes)).subarray(0, idLength)
}

/** `<name>+<key id>`, for messages. */
export const keyTitle = (key: NoteKey): string => `${key.name}+${bytesToHex(keyId(key))}`

/** `<name>+<key id>+<base64 of type and key>` */
export function formatKey(key: NoteKey): string {
  const bytes = Uint8Array.of(keyTypes[key.type].byte, ...key.publicKey)
  return `${keyTitle(key)}+${toBase64(bytes)}`
}

/** Null for malformed keys, keys of another type, and keys whose id does not match. */
export function parseKey(text: string): NoteKey | null {
  const [, name = '', base64 = ''] = /^([^\s+]+)\+[0-9a-f]{8}\+(\S+)$/u.exec(text) ?? []
  const [byte, ...publicKey] = fromBase64(base64) ?? []
  const type = entriesOf(keyTypes).find(
    ([, one]) => one.byte === byte && one.keyLength === publicKey.length,
  )
  // A longer name does not fit into the message of an ML-DSA-44 cosignature.
  if (type === undefined || utf8.encode(name).length > mostNameBytes) return null
  const key = { name, type: type[0], publicKey: Uint8Array.from(publicKey) }
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

/**
 * The signatures of a note that name this key. The caller verifies each of them; an invalid one makes the note invalid.
 * A key of the type `mlDsaWitness` signs checkpoints only.
 */
export function signaturesBy(key: NoteKey, { text, signatures }: Note): readonly NoteSignature[] {
  const id = keyId(key)
  return signatures.flatMap((line) => {
    const [, name, base64 = ''] = line.split(' ')
    const bytes = fromBase64(base64)
    if (name !== key.name || bytes === null || !isSame(bytes.subarray(0, idLength), id)) return []
    const start = idLength + (key.type === 'log' ? 0 : timeLength)
    // A signature of another length cannot be valid.
    if (bytes.length !== start + keyTypes[key.type].signatureLength) {
      return [{ message: new Uint8Array(), signature: new Uint8Array(), time: null }]
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    const time = key.type === 'log' ? null : Number(view.getBigUint64(idLength))
    const message =
      key.type === 'mlDsaWitness'
        ? treeMessage(name, bytes.subarray(idLength, start), text)
        : utf8.encode(time === null ? text : `cosignature/v1\ntime ${time}\n${text}`)
    return [{ message, signature: bytes.subarray(start), time }]
  })
}

/** The `cosigned_message` of the whole tree of a checkpoint, without its lines of extensions. */
function treeMessage(name: string, stamp: Uint8Array, checkpoint: string): Uint8Array {
  const [origin = '', size = '', root = ''] = checkpoint.split('\n')
  const [nameBytes, originBytes] = [utf8.encode(name), utf8.encode(origin)]
  const range = new DataView(new ArrayBuffer(2 * timeLength))
  range.setBigUint64(timeLength, BigInt(size))
  return Uint8Array.of(
    ...utf8.encode('subtree/v1\n\0'),
    nameBytes.length,
    ...nameBytes,
    ...stamp,
    originBytes.length,
    ...originBytes,
    ...new Uint8Array(range.buffer),
    ...(fromBase64(root) ?? []),
  )
}
