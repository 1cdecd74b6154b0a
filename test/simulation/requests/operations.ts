/** Which operation of the API each kind of request is, and what of the API no request of a run is. */
import type { RouteId } from '../../../src/contract/routes.ts'
import type { Intent } from '../model/intent.ts'
import { namesOf } from '../random.ts'

export const operations = {
  register: 'registerWorker',
  receipt: 'submitReceipt',
  claim: 'claimSpot',
  ask: 'claimSpot',
  code: 'claimSpot',
  signup: 'signupPartner',
  attest: 'updateAttestationEndpoint',
  profile: 'updateMyPartner',
  /** To the free tier: the others are paid for, which runs do for reads alone. */
  free: 'changeSubscription',
  leave: 'cancelSubscription',
  subscribe: 'subscribeAlerts',
  unsubscribe: 'unsubscribeAlerts',
  try: 'testAlerts',
  apply: 'applyToRail',
  post: 'postJob',
  bid: 'bidOnJob',
  award: 'awardJob',
  deliver: 'deliverJob',
  accept: 'acceptJob',
  dispute: 'disputeJob',
  cancel: 'cancelJob',
  feedback: 'submitFeedback',
  propose: 'proposeSkill',
} as const satisfies Readonly<Record<Intent['kind'], RouteId>>

export const kinds = namesOf(operations)

/** Writes of the API that no run has, each with the reason. There is none now. */
export const leftOut: Readonly<Partial<Record<RouteId, string>>> = {}
