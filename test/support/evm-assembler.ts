const opcodes = {
  STOP: 0x00,
  ADD: 0x01,
  SUB: 0x03,
  LT: 0x10,
  EQ: 0x14,
  ISZERO: 0x15,
  SHL: 0x1b,
  SHR: 0x1c,
  KECCAK256: 0x20,
  CALLDATALOAD: 0x35,
  CALLDATASIZE: 0x36,
  CALLDATACOPY: 0x37,
  POP: 0x50,
  MSTORE: 0x52,
  SLOAD: 0x54,
  JUMP: 0x56,
  JUMPI: 0x57,
  GAS: 0x5a,
  JUMPDEST: 0x5b,
  DUP1: 0x80,
  LOG0: 0xa0,
  CALL: 0xf1,
  RETURN: 0xf3,
  REVERT: 0xfd,
} as const

const push2 = 0x61

/**
 * Assembles a program for the EVM. Words: a number is pushed, `:name` marks a jump target, `@name` pushes its position,
 * and `DUPn` and `LOGn` are numbered opcodes; any other word is an opcode.
 */
export function assemble(program: string): `0x${string}` {
  const words = program.split(/\s+/).filter(Boolean)
  const places = new Map<string, number>()
  let at = 0
  for (const word of words) {
    if (word.startsWith(':')) places.set(word.slice(1), at)
    at += /^[\d@]/.test(word) ? 3 : 1
  }
  const bytes = words.flatMap((word) => {
    if (word.startsWith(':')) return [opcodes.JUMPDEST]
    if (word.startsWith('@')) return pushed(places.get(word.slice(1)))
    if (/^\d/.test(word)) return pushed(Number(word))
    return [opcodeOf(word)]
  })
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function pushed(value: number | undefined): number[] {
  if (value === undefined) throw new Error('a jump to nowhere')
  return [push2, value >> 8, value & 0xff]
}

function opcodeOf(word: string): number {
  const counted = /^(DUP|LOG)(\d+)$/.exec(word)
  if (counted?.[1] === 'DUP') return opcodes.DUP1 + Number(counted[2]) - 1
  if (counted?.[1] === 'LOG') return opcodes.LOG0 + Number(counted[2])
  const opcode = Object.entries(opcodes).find(([name]) => name === word)
  if (opcode === undefined) throw new Error(`no opcode ${word}`)
  return opcode[1]
}
