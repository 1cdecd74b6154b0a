/** Sends texts that make a backtracking pattern take exponential time, in which case this file never ends. */
import { expect, test } from 'vitest'

import { parsePartnerTimestamp, unixSecondsOfDateHeader } from '../../src/auth/timestamps.ts'
import { parseUsdc } from '../../src/core/money.ts'
import { checkOutboundUrl } from '../../src/core/outbound-url.ts'
import { parseStrictJsonText } from '../../src/core/strict-json.ts'
import { parseTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'

const length = 100_000
const repeated = ['0', 'a', '.', '-', ' ', '/', '1.', 'a.', '%2e', '0x', 'e+', '[', '"\\', '\n']
const readers = {
  parsePartnerTimestamp,
  unixSecondsOfDateHeader,
  parseUsdc,
  parseTime,
  parseWallet,
  parseStrictJsonText,
  checkOutboundUrl: (text: string) => checkOutboundUrl(`https://${text}`),
} as const

test.each(Object.entries(readers))(
  '%s rejects 100 KB of repeated text in linear time',
  (_name, read) => {
    for (const part of repeated) {
      const text = `${part.repeat(length / part.length)}!`
      let answer: unknown = null
      try {
        answer = read(text)
      } catch (error) {
        expect(error).toBeInstanceOf(Error)
      }
      const isRefusal = typeof answer === 'object' && answer !== null && 'problem' in answer
      expect([part, isRefusal ? null : answer]).toEqual([part, null])
    }
  },
)
