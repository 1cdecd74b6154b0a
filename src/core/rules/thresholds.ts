import { toUsdc } from '../money.ts'
import { dayMs } from '../time.ts'
import { burstHours, burstShare, sessionHours } from './hours.ts'
import { hubAgeDays, hubRecipients } from './hubs.ts'
import { fundedMicroUsdc, returnedPairShare } from './measures.ts'
import { collectorShare, funderShare } from './parties.ts'
import { mainPaymentShare, maxCycle } from './returned.ts'
import { formerStatusMs } from './status.ts'

/** The constants of the rules: value and meaning, by published name. */
export const ruleThresholds = {
  funder_share: [
    funderShare,
    'A payer joins the party of a wallet that sent it at least this share of the USDC that it received, and of what it paid here.',
  ],
  collector_share: [
    collectorShare,
    'A worker joins the party of a wallet that received at least this share of what it earned here.',
  ],
  hub_age_days: [hubAgeDays, 'A wallet of at least this age, with enough recipients, is a hub.'],
  hub_recipients: [
    hubRecipients,
    'A hub has at least this many recipients in the blocks that are sampled.',
  ],
  returned_pair_share: [
    returnedPairShare,
    'Payments between a customer and a worker are ignored if more than this share of them came back.',
  ],
  longest_cycle: [maxCycle, 'Money is followed over at most this many payments and transfers.'],
  main_payment_share: [
    mainPaymentShare,
    'In a cycle of several payments, each must be at least this share of what its payer spends and of what its payee earns.',
  ],
  funded_usdc: [toUsdc(fundedMicroUsdc), 'A party that pays this much net is a funded creator.'],
  session_hours: [sessionHours, 'The consecutive hours that count as one session.'],
  burst_hours: [burstHours, 'The flag `burst` counts at most this many hours.'],
  burst_share: [burstShare, 'These hours contain at least this share of the payments.'],
  former_status_days: [
    formerStatusMs / dayMs,
    'A rail about which too little is known keeps its status for this many days.',
  ],
} as const satisfies Readonly<Record<string, readonly [number, string]>>
