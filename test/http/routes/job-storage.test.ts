/** What the database keeps of jobs that come to nothing. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { openExchange, parties } from '../../support/exchange.ts'
import { signedRequest } from '../../support/requests.ts'
import { useService } from '../../support/use-service.ts'

const jobs = '/api/v1/jobs'
const service = useService()

test('a partner who posts and cancels jobs stores each text once, and each answer once', async () => {
  const exchange = await openExchange(service)
  const description = 'secret sauce '.repeat(600).trim()
  const headers = { 'Idempotency-Key': 'post' }
  const post = { path: jobs, body: exchange.postBody({ description }), headers }
  const send = await signedRequest(service, parties.poster, post)
  const posted = await send()
  const id = z.string().parse(posted.body['id'])
  const path = `${jobs}/${id}/cancel`
  const end = { path, body: {}, headers: { 'Idempotency-Key': 'cancel' } }
  const cancel = await signedRequest(service, parties.poster, end)
  const cancelled = await cancel()
  const after = JSON.stringify(await exchange.rows())
  // The row of the job, the answer to its post and the answer to its cancellation.
  expect(after.split(description).length - 1).toBe(3)
  for (const [again, first] of [
    [await send(), posted],
    [await cancel(), cancelled],
  ] as const) {
    expect([again.status, again.body]).toEqual([200, first.body])
  }
})
