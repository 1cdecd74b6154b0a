/** IP addresses as numbers, and which of them lie in the public Internet. */

/** The 16 bytes of an IPv6 address as eight groups, or the word of an IPv4 one; null where the text is neither. */
export type IpAddress =
  | { readonly family: 4; readonly word: number }
  | { readonly family: 6; readonly groups: readonly number[] }

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/
const GROUP = /^[0-9a-f]{1,4}$/i
const groupCount = 8

/** Reads dotted decimal or RFC 4291 text. Zones (`%eth0`), brackets and every other spelling are refused. */
export function parseIpAddress(text: string): IpAddress | null {
  const word = ipv4Word(text)
  if (word !== null) return { family: 4, word }
  const groups = ipv6Groups(text)
  return groups === null ? null : { family: 6, groups }
}

function ipv4Word(text: string): number | null {
  const match = IPV4.exec(text)
  if (match === null) return null
  const octets = match.slice(1).map(Number)
  if (octets.some((octet) => octet > 255)) return null
  return octets.reduce((word, octet) => word * 256 + octet, 0)
}

function ipv6Groups(text: string): readonly number[] | null {
  const [head = '', tail, ...more] = text.split('::')
  if (more.length > 0) return null
  const before = groupsOf(head, tail === undefined)
  const after = tail === undefined ? [] : groupsOf(tail, true)
  if (before === null || after === null) return null
  const missing = groupCount - before.length - after.length
  if (tail === undefined ? missing !== 0 : missing < 1) return null
  return [...before, ...Array.from({ length: missing }, () => 0), ...after]
}

/** `takesIpv4`: the part is the end of the address, where the last 32 bits may be dotted decimal. */
function groupsOf(text: string, takesIpv4: boolean): readonly number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    const word = takesIpv4 && index === parts.length - 1 ? ipv4Word(part) : null
    if (word !== null) groups.push(Math.floor(word / 0x1_0000), word % 0x1_0000)
    else if (GROUP.test(part)) groups.push(Number.parseInt(part, 16))
    else return null
  }
  return groups
}

/**
 * Every block of the IANA special-purpose registry for IPv4 (RFC 6890), those that are reachable too: none of
 * them is a place where a stranger's server stands. Multicast and the reserved end besides.
 */
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

/** Special blocks inside of 2000::/3, the only part of IPv6 that is given out as global unicast (RFC 4291 2.4). */
const specialIpv6 = [
  // Teredo, ORCHID, benchmarking, AMT, DRIP and what else IETF protocols use.
  '2001::/23',
  '2001:db8::/32',
  // 6to4: carries an IPv4 address of any kind.
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
] as const
const globalUnicast = blockOf('2000::/3')
const special4 = specialIpv4.map(blockOf)
const special6 = specialIpv6.map(blockOf)

interface Block {
  readonly bits: readonly boolean[]
}

/**
 * Whether an address as a resolver gives it is one of the public Internet. Loopback, private, link-local,
 * shared, documentation, multicast and reserved addresses are not; nor are those of IPv6 that carry an IPv4
 * address inside (mapped, NAT64, 6to4, Teredo); nor is what is no address.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIpAddress(text)
  if (address === null) return false
  const bits = bitsOf(address)
  if (address.family === 4) return !special4.some((block) => isIn(bits, block))
  return isIn(bits, globalUnicast) && !special6.some((block) => isIn(bits, block))
}

function blockOf(cidr: string): Block {
  const [text = '', length = ''] = cidr.split('/')
  const address = parseIpAddress(text)
  if (address === null) throw new Error(`${cidr} is not a block of addresses`)
  return { bits: bitsOf(address).slice(0, Number(length)) }
}

function isIn(bits: readonly boolean[], block: Block): boolean {
  return block.bits.every((bit, index) => bits[index] === bit)
}

function bitsOf(address: IpAddress): readonly boolean[] {
  const text =
    address.family === 4
      ? address.word.toString(2).padStart(32, '0')
      : address.groups.map((group) => group.toString(2).padStart(16, '0')).join('')
  return Array.from(text, (digit) => digit === '1')
}
