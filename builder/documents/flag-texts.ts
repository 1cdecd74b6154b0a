import type { Flag } from '../../src/contract/schemas/flag.ts'

/** When each kind of flag is raised. */
export const flagTexts: Readonly<Record<Flag['kind'], string>> = {
  poll_failed: 'The last poll failed; the figures are carried over from an earlier poll.',
  stale_figures: 'No successful poll in the last two cycles.',
  concentrated: 'One worker or service receives more than 90 % of the net volume.',
  self_dealing: 'More than half of the raw volume is between wallets of one operator.',
  mostly_filtered:
    'The filter rule leaves out more than half of the raw volume, for other reasons.',
  circular_flow:
    'More than 30 % of the volume came back to its payers, or stayed within one party: refunds, change or circulation.',
  common_funder:
    'Five or more payers share a source of funds, count as one party and pay more than half.',
  linked_workers:
    'Three or more workers with more than half of the volume pass most of their income to one wallet.',
  dominant_payer: 'One party pays more than 90 % of the net volume.',
  single_payment: 'One payment makes up more than 80 % of the volume.',
  batch_payouts:
    'More than half are equal payouts of one payer to 20 or more workers within an hour: rewards or payroll.',
  burst: 'Four fifths of 20 or more payments fall into at most 6 hours.',
  uniform_payers: 'Five or more payers pay about the same sums at regular intervals.',
  figures_jump: 'A figure changed tenfold between two polls.',
  clock_skew: 'The source dates a payout in the future.',
  negative_or_impossible_figures: 'The source reported impossible figures; they were rejected.',
  pact_sources_disagree:
    'Manifest, escrow, receipts or publications of a pact contradict each other.',
  receipt_reversed: 'A previously verified receipt is no longer verified.',
}
