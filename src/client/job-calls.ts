/** The job exchange. */
import { messages } from '../auth/messages.ts'
import { callOf } from './call.ts'
import type { BodyOf, QueryOf } from './call.ts'
import type { Caller } from './prepare.ts'
import { signStatement } from './sign.ts'
import type { WriteOptions } from './writes.ts'

export function jobCalls(caller: Caller) {
  return {
    jobs: (query: QueryOf<'listJobs'> = {}) => callOf(caller, 'listJobs', { query }),
    job: (id: string) => callOf(caller, 'getJob', { params: { id } }),
    /** For the poster: all bids; for a bidder: the own ones. */
    bids: (id: string, query: QueryOf<'listBids'> = {}) =>
      callOf(caller, 'listBids', { params: { id }, query, partner: 'v1' }),
    /** For the parties of a job. */
    delivery: (id: string) => callOf(caller, 'getDelivery', { params: { id }, partner: 'v1' }),
    postJob: (body: BodyOf<'postJob'>, options: WriteOptions = {}) =>
      callOf(caller, 'postJob', { body, partner: 'v2', ...options }),
    bidOnJob: (id: string, body: BodyOf<'bidOnJob'>, options: WriteOptions = {}) =>
      callOf(caller, 'bidOnJob', { params: { id }, body, partner: 'v2', ...options }),
    awardJob: (id: string, body: BodyOf<'awardJob'>, options: WriteOptions = {}) =>
      callOf(caller, 'awardJob', { params: { id }, body, partner: 'v2', ...options }),
    /** Signed in the headers and, as a statement of its own, in the body. */
    deliverJob: async (
      id: string,
      delivery: Omit<BodyOf<'deliverJob'>, 'wallet' | 'timestamp' | 'signature'>,
      options: WriteOptions = {},
    ) => {
      const parts = await signStatement(
        caller,
        (service, from) => messages.deliver(service, { ...from, jobId: id }),
        delivery,
      )
      const call = { params: { id }, ...parts, partner: 'v2', ...options } as const
      return await callOf(caller, 'deliverJob', call)
    },
    acceptJob: (id: string, options: WriteOptions = {}) =>
      callOf(caller, 'acceptJob', { params: { id }, body: {}, partner: 'v2', ...options }),
    disputeJob: (id: string, body: BodyOf<'disputeJob'>, options: WriteOptions = {}) =>
      callOf(caller, 'disputeJob', { params: { id }, body, partner: 'v2', ...options }),
    cancelJob: (id: string, options: WriteOptions = {}) =>
      callOf(caller, 'cancelJob', { params: { id }, body: {}, partner: 'v2', ...options }),
  } as const
}
