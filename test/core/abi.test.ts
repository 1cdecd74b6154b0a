import { encodeAbiParameters, encodeEventTopics, parseAbi } from 'viem'
import { describe, expect, test } from 'vitest'

import { addressTopic, bytesWords, transferTopic, word } from '../../src/core/abi.ts'

const address = '0x52908400098527886E0F7030069857D2E4169EE7'

describe('ABI words', () => {
  test('encodes a number like an independent ABI encoder', () => {
    expect(`0x${word(66n.toString(16))}`).toBe(encodeAbiParameters([{ type: 'uint256' }], [66n]))
  })

  test.for([0, 1, 31, 32, 33, 65])('encodes %i bytes like an independent ABI encoder', (length) => {
    const data = `0x${'a7'.repeat(length)}` as const
    // The first word is the offset of the argument.
    const expected = encodeAbiParameters([{ type: 'bytes' }], [data]).slice(2 + 64)
    expect(bytesWords(data)).toBe(expected)
  })

  test('encodes an address in a topic in lower case, like an independent ABI encoder', () => {
    const topics = encodeEventTopics({
      abi: parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)']),
      eventName: 'Transfer',
      args: { from: address },
    })
    expect([transferTopic, addressTopic(address), null]).toEqual(topics)
  })
})
