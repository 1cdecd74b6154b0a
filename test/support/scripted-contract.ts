/** Contracts for tests. */
import {
  concat,
  encodeAbiParameters,
  keccak256,
  numberToHex,
  padHex,
  size,
  slice,
  toEventSelector,
  toHex,
} from 'viem'
import type { Abi, AbiEvent, AbiParameter, Address, Hex } from 'viem'

import { assemble } from './evm-assembler.ts'

export interface ScriptedLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
}

const topicsFrom = 5

/** Emits the log of calldata `00000000 | n | topics | data`. */
function logBranch(count: number): string {
  const dataAt = topicsFrom + 32 * count
  const topics = Array.from(
    { length: count },
    (_, at) => `${topicsFrom + 32 * (count - 1 - at)} CALLDATALOAD`,
  )
  return `:log${count} ${dataAt} CALLDATASIZE SUB DUP1 ${dataAt} 0 CALLDATACOPY
    ${topics.join(' ')} DUP${count + 1} 0 LOG${count} STOP`
}

/** Any other calldata is a call: storage at its hash has the number of words of the answer, then the words. */
export const scriptedCode = assemble(`
  0 CALLDATALOAD 224 SHR ISZERO @emit JUMPI
  CALLDATASIZE 0 0 CALLDATACOPY CALLDATASIZE 0 KECCAK256 DUP1 SLOAD 0
  :next DUP2 DUP2 LT ISZERO @done JUMPI
    DUP3 DUP2 ADD 1 ADD SLOAD DUP2 5 SHL MSTORE 1 ADD @next JUMP
  :done POP 5 SHL 0 RETURN
  :emit 4 CALLDATALOAD 248 SHR
  ${[1, 2, 3, 4].map((count) => `DUP1 ${count} EQ @log${count} JUMPI`).join(' ')} STOP
  ${[1, 2, 3, 4].map(logBranch).join(' ')}
`)

/** Calldata is a list of `address | length (2 bytes) | payload`. One failed call reverts all calls. */
export const batchCode = assemble(`
  0
  :next CALLDATASIZE DUP2 LT ISZERO @end JUMPI
    DUP1 20 ADD CALLDATALOAD 240 SHR
    DUP1 DUP3 22 ADD 0 CALLDATACOPY
    0 0 DUP3 0 0 DUP7 CALLDATALOAD 96 SHR GAS CALL ISZERO @fail JUMPI
    ADD 22 ADD @next JUMP
  :end STOP
  :fail 0 0 REVERT
`)

/** Calldata for a batch that emits the logs in order, each from its contract. */
export function batchOf(logs: readonly ScriptedLog[]): Hex {
  return concat(
    logs.map(({ address, topics, data }) => {
      const payload = concat([
        '0x00000000',
        numberToHex(topics.length, { size: 1 }),
        ...topics,
        data,
      ])
      return concat([address, numberToHex(size(payload), { size: 2 }), payload])
    }),
  )
}

/** Storage of a scripted contract that gives this answer to this call. */
export function answerSlots(call: Hex, answer: Hex): readonly { slot: Hex; word: Hex }[] {
  const hash = BigInt(keccak256(call))
  const words = size(answer) / 32
  const slotAt = (at: number): Hex => numberToHex((hash + BigInt(at)) % 2n ** 256n, { size: 32 })
  return [
    { slot: slotAt(0), word: numberToHex(words, { size: 32 }) },
    ...Array.from({ length: words }, (_, at) => ({
      slot: slotAt(at + 1),
      word: slice(answer, 32 * at, 32 * (at + 1)),
    })),
  ]
}

/** The log of `event Name(type [indexed] name, …)`; arrays may be indexed. */
export function logOf(
  address: Address,
  events: Abi,
  eventName: string,
  args: Readonly<Record<string, unknown>>,
): ScriptedLog {
  const event = events.find(
    (item): item is AbiEvent => item.type === 'event' && item.name === eventName,
  )
  if (event === undefined) throw new Error(`no event ${eventName}`)
  const valueOf = ({ name = '' }: AbiParameter): unknown => args[name]
  const indexed = event.inputs.filter((input) => input.indexed === true)
  const plain = event.inputs.filter((input) => input.indexed !== true)
  const topics = indexed.map((input) => topicOf(input, valueOf(input)))
  const data = encodeAbiParameters(plain, plain.map(valueOf))
  return { address, topics: [toEventSelector(event), ...topics], data }
}

/** An indexed string or array is a hash in its topic (Solidity ABI). */
function topicOf(input: AbiParameter, value: unknown): Hex {
  if (input.type === 'string') return keccak256(toHex(String(value)))
  if (input.type !== 'address[]') return encodeAbiParameters([input], [value])
  const parts = Array.isArray(value) ? value : []
  return keccak256(concat(parts.map((part) => encodeAbiParameters([{ type: 'address' }], [part]))))
}

export function word(value: bigint | number): Hex {
  return padHex(numberToHex(value), { size: 32 })
}

/** A different address for each number. */
export function wallet(number: number): Address {
  return `0x${number.toString(16).padStart(40, 'a')}`
}
