import type { RouteId } from '../../../src/contract/routes.ts'
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
  /** To the free tier: paid tiers are not simulated. */
  free: 'changeSubscription',
  leave: 'cancelSubscription',
  subscribe: 'subscribeAlerts',
  unsubscribe: 'unsubscribeAlerts',
  try: 'testAlerts',
  enable: 'enableAlerts',
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
} as const satisfies Readonly<Record<string, RouteId>>

export type Kind = keyof typeof operations

export const kinds = namesOf(operations)
