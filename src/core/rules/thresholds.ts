import { toUsdc } from '../money.ts'
import { dayMs } from '../time.ts'
import { contractSenders, ownerShare, splits } from './contracts.ts'
import { burstHours, burstShare, sessionHours } from './hours.ts'
import { hubAgeDays, hubStrangers } from './hubs.ts'
import { fundedMicroUsdc, returnedPairShare } from './measures.ts'
import {
  collectorShare,
  funderShare,
  sharedFunderShare,
  sharedFunderWallets,
  supplierSenders,
  sweepShare,
} from './parties.ts'
import { longCycleShare, mainPaymentShare, maxCycle } from './returned.ts'
import { formerStatusMs } from './status.ts'

/** The constants of the rules: value and meaning, by published name. */
export const ruleThresholds = {
  funder_share: [
    funderShare,
    'A payer joins the party of a wallet that sent it at least this share of the USDC that it received, and of what it paid here or passed on.',
  ],
  shared_funder_share: [
    sharedFunderShare,
    `The share if the wallet sent at least this share to each of ${sharedFunderWallets} wallets or more.`,
  ],
  collector_share: [
    collectorShare,
    `A worker joins the party of a wallet with fewer than ${supplierSenders} senders of 1 USDC in the sampled blocks that received at least this share of what it earned here.`,
  ],
  supplier_senders: [supplierSenders, 'A wallet with this many senders or more may be a supplier.'],
  sweep_share: [sweepShare, 'The share if the wallet has more senders, or if they are unknown.'],
  hub_age_days: [
    hubAgeDays,
    'A wallet of at least this age, with enough recipients or senders, is a hub.',
  ],
  hub_recipients: [
    hubStrangers,
    'A hub has at least this many recipients, or as many senders of 1 USDC, in the blocks that are sampled.',
  ],
  returned_pair_share: [
    returnedPairShare,
    'Payments between a customer and a worker are ignored if more than this share of them came back.',
  ],
  contract_senders: [
    contractSenders,
    'The senders of a contract with at least this many count as customers in its place.',
  ],
  owner_share: [ownerShare, 'A contract with this share of its money from one sender is no hub.'],
  split_recipients: [splits.recipients, 'Divided money goes to at least this many wallets.'],
  split_tolerance: [splits.tolerance, 'Received and divided money differ by at most this share.'],
  split_owner_share: [splits.ownerShare, 'Who sent this share of divided money is its source.'],
  longest_cycle: [
    maxCycle,
    'Longer cycles must consist of payments of the share `long_cycle_share`.',
  ],
  long_cycle_share: [
    longCycleShare,
    'In a cycle of any length, each payment must be at least this share of what its payer spends and of what its payee earns.',
  ],
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
