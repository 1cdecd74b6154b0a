/** Sends every kind of outbound request to every misbehaving server. */
import { beforeAll, describe, expect, test } from 'vitest'

import { createCollector } from '../../support/collect.ts'
import { useLocalServer } from '../../support/local-server.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { kinds } from './kinds.ts'
import { misbehaviours, startLiar } from './liar.ts'

allowSlowTests('waits for time limits of clients')

/** A well-behaved endpoint inside the network. */
const inside = useLocalServer((request, response) => {
  visits += 1
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"secret":"of the cloud"}')
})
let visits = 0

/** Forces garbage collection: `fetch` and `AbortSignal.any` reference signals weakly, so that one may be lost during a read. */
beforeAll(() => {
  const collecting = setInterval(createCollector(), 250)
  return () => clearInterval(collecting)
})

/** The body of a webhook receiver's 200 is not read. */
const fine = new Set([
  'answers with a page',
  'answers with nothing',
  'answers another type',
  'answers 200 with an error',
])

describe.each(kinds)('$name', ({ name, tls, mostBytes, ask }) => {
  test.each(misbehaviours)(`${name} that $name cannot exceed limits`, async (misbehaviour) => {
    const liar = await startLiar(misbehaviour, inside.url, tls)
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
