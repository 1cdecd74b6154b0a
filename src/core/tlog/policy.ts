/** The policy of the log (c2sp.org/tlog-policy): whose cosignatures make a checkpoint count as witnessed. */
import { bytesToHex } from '../hex.ts'
import { parseNumber } from './checkpoint.ts'
import { formatKey, parseKey } from './note.ts'
import type { NoteKey } from './note.ts'

/** A witness that cosigns the checkpoints of the log. */
export interface KnownWitness {
  readonly key: NoteKey
  /** Where it accepts checkpoints. */
  readonly url: string
}

export interface WitnessPolicy {
  readonly witnesses: readonly KnownWitness[]
  /** Number of witnesses that must have cosigned. */
  readonly quorum: number
}

/** Parses an optional quorum (default: more than half) and the witnesses. @throws RangeError that states the expected form */
export function parseWitnessPolicy(text: string): WitnessPolicy {
  const parts = text.split(',').map((part) => part.trim())
  const given = parseNumber(parts[0] ?? '')
  const witnesses = parts
    .slice(given === null ? 0 : 1)
    .filter((part) => part !== '')
    .map(parseWitness)
  const keys = new Set(witnesses.map(({ key }) => bytesToHex(key.publicKey)))
  const names = new Set(witnesses.map(({ key }) => key.name))
  if (Math.min(keys.size, names.size) < witnesses.length) {
    throw new RangeError('each witness must have its own name and its own key')
  }
  const quorum = given ?? Math.floor(witnesses.length / 2) + 1
  if (given !== null && (given === 0 || given > witnesses.length)) {
    throw new RangeError(`the quorum must be from 1 to ${witnesses.length}`)
  }
  return { witnesses, quorum }
}

function parseWitness(text: string): KnownWitness {
  const [vkey = '', address = '', ...more] = text.split(/\s+/)
  const key = parseKey(vkey)
  if (key !== null && key.type !== 'log' && more.length === 0 && URL.canParse(address)) {
    return { key, url: address.replace(/\/$/, '') }
  }
  throw new RangeError(
    'each witness must be its verifier key and its address, with a space between',
  )
}

export function policyText(log: NoteKey, { witnesses, quorum }: WitnessPolicy): string {
  const names = witnesses.map((_, at) => `w${at + 1}`)
  return [
    `log ${formatKey(log)}`,
    ...witnesses.map(({ key, url }, at) => `witness w${at + 1} ${formatKey(key)} ${url}`),
    ...(names.length === 0
      ? ['quorum none']
      : [`group witnesses ${quorum} ${names.join(' ')}`, 'quorum witnesses']),
    '',
  ].join('\n')
}
