/** Keys of rate limits: keyed hashes of an IPv4 address, or of an IPv6 /64 (one customer) and its /48. */
import { isIPv6 } from 'node:net'

export interface Network {
  readonly host: number
  readonly range: number | null
}

export type NetworkHash = (address: string | undefined) => Network

const MAPPED_PREFIX = 0xffff
const HOST_TAG = 1
const RANGE_TAG = 2
const DOT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const ipv6Groups = 8

/** Returns `[0xffff, address]` for IPv4 (also mapped into IPv6), the upper 64 bits for IPv6, else null. */
export function networkWords(address: string): readonly [number, number] | null {
  const ipv4 = ipv4Word(address)
  if (ipv4 !== null) return [MAPPED_PREFIX, ipv4]
  const groups = ipv6Words(address)
  if (groups === null) return null
  const word = (at: number): number => (((groups[at] ?? 0) << 16) | (groups[at + 1] ?? 0)) >>> 0
  const isMapped = word(0) === 0 && word(2) === 0 && word(4) === MAPPED_PREFIX
  return isMapped ? [MAPPED_PREFIX, word(6)] : [word(0), word(2)]
}

export function isIpv4([first]: readonly [number, number]): boolean {
  return first === MAPPED_PREFIX
}

/** The secret prevents callers from choosing addresses that share a slot. */
export function createNetworkHash(secret: readonly [number, number]): NetworkHash {
  const hash = (first: number, second: number, tag: number): number => {
    const upper = mix(mix(mix(first ^ secret[0]) ^ second) ^ tag)
    const lower = mix(mix(mix(first ^ secret[1]) + second) + tag)
    return (upper & 0x1f_ffff) * 0x1_0000_0000 + lower
  }
  const networkOf = (address: string | undefined): Network => {
    const words = address === undefined ? null : networkWords(address)
    const [first, second] = words ?? [0, 0]
    const hasRange = words !== null && !isIpv4(words)
    return {
      host: hash(first, second, HOST_TAG),
      range: hasRange ? hash(first, second & 0xffff_0000, RANGE_TAG) : null,
    }
  }
  let lastAddress: string | undefined
  let lastNetwork = networkOf(undefined)
  return (address) => {
    if (address !== lastAddress) {
      lastNetwork = networkOf(address)
      lastAddress = address
    }
    return lastNetwork
  }
}

/** Parses dotted decimal. Avoids regular expressions for speed. */
function ipv4Word(text: string): number | null {
  let word = 0
  let octet = 0
  let digits = 0
  let dots = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === DOT && digits > 0 && dots < 3) {
      word = word * 256 + octet
      octet = 0
      digits = 0
      dots += 1
    } else if (code >= DIGIT_0 && code <= DIGIT_9) {
      octet = octet * 10 + code - DIGIT_0
      digits += 1
      if (octet > 255 || digits > 3) return null
    } else {
      return null
    }
  }
  return dots === 3 && digits > 0 ? word * 256 + octet : null
}

/** The eight groups of an IPv6 address (RFC 4291 section 2.2) without its zone, or null. */
function ipv6Words(text: string): readonly number[] | null {
  const [address = ''] = text.split('%', 1)
  if (!isIPv6(address)) return null
  const [head = [], tail = []] = address.split('::').map(groupsOf)
  const missing = ipv6Groups - head.length - tail.length
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail]
}

function groupsOf(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    const ipv4 = part.includes('.') ? ipv4Word(part) : null
    return ipv4 === null ? [Number.parseInt(part, 16)] : [ipv4 >>> 16, ipv4 & 0xffff]
  })
}

function mix(value: number): number {
  let mixed = value >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
