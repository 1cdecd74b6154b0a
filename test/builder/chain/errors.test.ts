import { RpcRequestError } from 'viem'
import { expect, test } from 'vitest'

import { chainError } from '../../../builder/chain/errors.ts'

test('a reason without an end is not looked into: the patterns take the square of its length', () => {
  const message = 'a'.repeat(100_000)
  const error = new RpcRequestError({ body: {}, error: { code: 3, message }, url: 'http://node' })
  const told = chainError('base', 'http://node', error)
  expect(told.message).toBe('base RPC at node: error 3: ')
})
