import { expect, test } from 'vitest'

import { nodeError, notConfigured } from '../../src/chain/errors.ts'

test('the error text of a node is shortened before patterns are applied to it', () => {
  const refusal = { code: 3, message: 'a'.repeat(100_000) }
  const { message } = nodeError('base RPC at node', 'http://node', refusal)
  expect(message).toBe('base RPC at node: error 3: ')
})

test('a chain without an RPC is reported with the name of its setting', () => {
  expect(notConfigured('base')).toBe('no RPC is set for base (RPC_URL_BASE)')
})
