import type { IncomingMessage, ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { createSources } from '../../../builder/rails/sources.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { serveDuringTest } from '../../support/local-server.ts'

test('a poll reads more logs from a node than a list may have', async () => {
  const result = 'a'.repeat(12_000_000)
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id } = z.object({ id: z.number() }).parse(await json(request))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  const node = await serveDuringTest((request, response) => void answer(request, response))
  const { call } = createSources({
    fetch,
    clock: systemClock,
    random: systemRandom,
    userAgent: 'test',
    rpcUrls: { solana: node },
    railBaseUrls: new Map(),
  }).solana(new AbortController().signal)
  for (let read = 0; read < 3; read += 1) expect(await call('getLogs', [])).toHaveLength(12_000_000)
})
