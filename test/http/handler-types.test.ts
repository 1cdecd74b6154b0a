import { expect, expectTypeOf, test } from 'vitest'

import type { AnswerOf, RouteInput } from '../../src/contract/route-types.ts'
import type { RouteById } from '../../src/contract/routes.ts'
import { emptyBody } from '../../src/contract/schemas/job.ts'
import type { Handlers } from '../../src/http/handler-types.ts'

type Input<Id extends keyof Handlers> = RouteInput<RouteById<Id>>

test('the compiler infers params, query, body and answer of a handler from its route', () => {
  expectTypeOf<Input<'bidOnJob'>['params']>().toEqualTypeOf<{ readonly id: string }>()
  expectTypeOf<Input<'bidOnJob'>['body']['eta_hours']>().toEqualTypeOf<number>()
  expectTypeOf<Input<'listAlertDeliveries'>['query']['status']>().toEqualTypeOf<
    'dead' | 'delivered' | 'pending' | undefined
  >()
  expectTypeOf<AnswerOf<'getJob'>['status']>().not.toBeAny()
  expect(emptyBody.safeParse({}).success).toBe(true)
})

test('the compiler refuses a handler that reads or answers something else than its route', () => {
  const planted: Partial<Handlers> = {
    // @ts-expect-error -- the route has no parameter `handle`
    getJob: async ({ params }) => await Promise.reject(new Error(String(params.handle))),
    // @ts-expect-error -- the query has no parameter `skill`
    listReceipts: async ({ query }) => await Promise.reject(new Error(String(query.skill))),
    // @ts-expect-error -- the body has no member `price`
    bidOnJob: async ({ body }) => await Promise.reject(new Error(String(body.price))),
    // @ts-expect-error -- a worker has a wallet
    getWorker: async () => await Promise.resolve({ body: { name: 'alice' } }),
    // @ts-expect-error -- 204 is not a status of a write
    cancelJob: async () => await Promise.resolve({ status: 204, body: {} }),
  }
  expect(Object.keys(planted)).toHaveLength(5)
})
