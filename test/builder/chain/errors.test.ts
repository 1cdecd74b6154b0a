import { expect, test } from 'vitest'

import { ChainNotConfigured, nodeError } from '../../../builder/chain/errors.ts'
import { RpcError } from '../../../src/outbound/json-rpc.ts'

test('the text of a node is shortened before patterns are applied to it', () => {
  const error = new RpcError({ code: 3, message: 'a'.repeat(100_000), data: undefined })
  const { message } = nodeError('base RPC at node', 'http://node', error)
  expect(message).toBe('base RPC at node: error 3: ')
})

test('a chain without an RPC is reported with the name of its setting', () => {
  expect(new ChainNotConfigured('base').message).toBe('no RPC is set for base (RPC_URL_BASE)')
})
