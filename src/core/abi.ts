/** Topic of ERC-20 `Transfer(address indexed from, address indexed to, uint256 value)`. */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Pads hex digits to 32 bytes. The result has no `0x` prefix. */
export function word(hex: string): string {
  return hex.padStart(64, '0')
}

export function bytesWords(data: string): string {
  const hex = data.slice(2)
  return word((hex.length / 2).toString(16)) + hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')
}

export function addressTopic(address: string): `0x${string}` {
  return `0x${word(address.slice(2).toLowerCase())}`
}
