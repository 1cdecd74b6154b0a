import { BlockList, isIP, isIPv4 } from 'node:net'

import { memoized } from '../core/remember.ts'
import { isIpv4 as areIpv4, networkWords } from './network-key.ts'

const MEMO_SIZE = 4096
const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i
const withPort = /^(?:\[([0-9a-f:.]+)\](?::\d{1,5})?|(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5})$/i

export interface ClientAddresses {
  readonly clientOf: (
    peer: string | undefined,
    forwardedFor: string | undefined,
  ) => string | undefined
  readonly isProxy: (address: string) => boolean
}

/**
 * Returns the rightmost address of `X-Forwarded-For` that is not a trusted proxy, since clients can forge those further left.
 * An invalid entry ends the search. @throws Error for a proxy that is neither an address nor a CIDR range
 */
export function createClientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  if (trustedProxies.length === 0) return { clientOf: (peer) => peer, isProxy: () => false }
  const isTrusted = trustedIn(trustedProxies)
  const clientOf: ClientAddresses['clientOf'] = (peer, forwardedFor) => {
    if (forwardedFor === undefined || peer === undefined || !isTrusted(peer)) return peer
    let client = peer
    let end = forwardedFor.length
    while (end > 0) {
      const comma = forwardedFor.lastIndexOf(',', end - 1)
      const hop = bareAddress(forwardedFor.slice(comma + 1, end).trim())
      if (hop === null) return client
      client = hop
      if (!isTrusted(hop)) return client
      end = comma
    }
    return client
  }
  return { clientOf, isProxy: isTrusted }
}

/** Removes port, brackets and the prefix of IPv4-mapped IPv6; null for an invalid address. */
function bareAddress(text: string): string | null {
  if (isIPv4(text)) return text
  const match = withPort.exec(text)
  const address = match?.[1] ?? match?.[2] ?? text
  return isIP(address) === 0 ? null : (mapped.exec(address)?.[1] ?? address)
}

function trustedIn(trustedProxies: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of trustedProxies) addTo(list, entry)
  const hasRanges = trustedProxies.some((entry) => entry.includes('/'))
  const ipv4 = new Set(trustedProxies.map(ipv4Word))
  const isListed = memoized((address: string) => {
    const bare = bareAddress(address)
    return bare !== null && list.check(bare, familyOf(bare))
  }, MEMO_SIZE)
  return (address) => {
    const word = hasRanges ? null : ipv4Word(address)
    return word === null ? isListed(address) : ipv4.has(word)
  }
}

function ipv4Word(address: string): number | null {
  const words = networkWords(address)
  return words !== null && areIpv4(words) ? words[1] : null
}

function addTo(list: BlockList, entry: string): void {
  const [written = '', prefix, ...rest] = entry.split('/')
  const ipv4 = prefix === undefined ? mapped.exec(written)?.[1] : undefined
  const address = ipv4 ?? written
  const bits = isIP(address) === 6 ? 128 : 32
  const isRange = prefix !== undefined && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
  if (isIP(address) === 0 || rest.length > 0 || (prefix !== undefined && !isRange)) {
    throw new Error(`TRUSTED_PROXIES: ${entry} is neither an address nor a CIDR range`)
  }
  if (isRange) list.addSubnet(address, Number(prefix), familyOf(address))
  else list.addAddress(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
