/**
 * Every kind of outbound request against every misbehaving server: it ends with a reason that contains no key, uses little
 * memory, reaches no internal address, and does not delay other requests.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createCollector } from '../../support/collect.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { kinds } from './kinds.ts'
import { misbehaviours, startLiar } from './liar.ts'

allowSlowTests('waits for time limits of clients')

/** A well-behaved endpoint inside the network. */
const inside = createServer((request, response) => {
  visits += 1
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"secret":"of the cloud"}')
})
let visits = 0
let insideUrl = ''

/** Forces garbage collection: `fetch` and `AbortSignal.any` hold signals weakly, so that one may be lost during a read. */
let collecting: NodeJS.Timeout

beforeAll(async () => {
  collecting = setInterval(createCollector(), 250)
  inside.listen(0, '127.0.0.1')
  await once(inside, 'listening')
  const address = inside.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  insideUrl = `http://127.0.0.1:${address.port}`
})
afterAll(async () => {
  clearInterval(collecting)
  inside.close()
  await once(inside, 'close')
})

/** The body of a webhook receiver's 200 is not read. */
const fine = new Set([
  'answers with a page',
  'answers with nothing',
  'answers another type',
  'answers 200 with an error',
])

describe.each(kinds)('$name that', ({ name, tls, mostBytes, ask }) => {
  test.each(misbehaviours)('$name', async (misbehaviour) => {
    const liar = await startLiar(misbehaviour, insideUrl, tls)
    const mostKib = process.resourceUsage().maxRSS
    const reason = await ask(liar)
    // A decompressed gigabyte would show here.
    expect(process.resourceUsage().maxRSS - mostKib).toBeLessThan(300_000)
    const isFine = name === 'the receiver of a webhook' && fine.has(misbehaviour.name)
    if (isFine) expect(reason).toBeNull()
    else expect(reason).toMatch(/\w{3}/)
    if (/drips|stalls|says nothing/.test(misbehaviour.name)) {
      expect(reason).toMatch(/in time|within|timed out/i)
    }
    expect(reason ?? '').not.toContain('hidden-key')
    expect(liar.connections()).toBeGreaterThan(0)
    await liar.stop()
    expect(liar.sent()).toBeLessThanOrEqual(mostBytes)
    expect(visits).toBe(0)
  })
})
