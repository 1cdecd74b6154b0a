/** The policy of the log (c2sp.org/tlog-policy): whose cosignatures make a checkpoint count as witnessed. */
import { formatKey, parseKey } from './note.ts'
import type { NoteKey } from './note.ts'

/** A witness that cosigns the checkpoints of the log. */
export interface KnownWitness {
  readonly key: NoteKey
  /** Where it accepts checkpoints. */
  readonly url: string
}

/** Reads `<verifier key> <address>`; null for another form. */
export function parseWitness(text: string): KnownWitness | null {
  const [vkey = '', address = '', ...more] = text.trim().split(/\s+/)
  const key = parseKey(vkey)
  if (key?.type !== 'witness' || more.length > 0 || !URL.canParse(address)) return null
  return { key, url: address.replace(/\/$/, '') }
}

/** More than half of the witnesses are the quorum; without witnesses there is none. */
export function policyText(log: NoteKey, witnesses: readonly KnownWitness[]): string {
  const names = witnesses.map((_, at) => `w${at + 1}`)
  const quorum = Math.floor(names.length / 2) + 1
  return [
    `log ${formatKey(log)}`,
    ...witnesses.map(({ key, url }, at) => `witness w${at + 1} ${formatKey(key)} ${url}`),
    ...(names.length === 0
      ? ['quorum none']
      : [`group quorum-of-all ${quorum} ${names.join(' ')}`, 'quorum quorum-of-all']),
    '',
  ].join('\n')
}
