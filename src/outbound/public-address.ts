import { BlockList, isIP } from 'node:net'

/** IANA special-purpose registry for IPv4 (RFC 6890), including multicast and reserved ranges. */
const specialIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
] as const

/** Special blocks within 2000::/3, the only global unicast part of IPv6 (RFC 4291 section 2.4). */
const specialIpv6 = [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
] as const

const special = blockList([...specialIpv4, ...specialIpv6])
const globalUnicast = blockList(['2000::/3'])

/** Returns false for special blocks, IPv6 that contains IPv4 (mapped, NAT64, 6to4, Teredo), zones and other text. */
export function isPublicAddress(text: string): boolean {
  const version = isIP(text)
  if (version === 4) return !special.check(text)
  if (version === 0 || text.includes('%')) return false
  return globalUnicast.check(text, 'ipv6') && !special.check(text, 'ipv6')
}

function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/')
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
