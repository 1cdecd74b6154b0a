/** All commands, in the order of the help. */
import { adminCommands } from './admin.ts'
import { apiCommand } from './api-command.ts'
import { flag, option } from './command.ts'
import type { Command } from './command.ts'
import { sha256OfDelivery } from './files.ts'
import { keygen } from './keygen.ts'
import { logVerify } from './log.ts'
import { receiptCommands } from './receipts.ts'
import { recompute } from './recompute.ts'
import { reputationTry, rulesTry } from './rules.ts'
import { verifyCommands } from './verify.ts'

export const commands: readonly Command[] = [
  keygen,
  apiCommand('register', 'registerWorker', {
    args: {
      'receipt-key-file': option(
        'path',
        'ed25519 key that signs your receipts; only its public key is sent',
      ),
      oath: flag('also sign the worker oath'),
    },
    oath: (input) => (input.flag('oath') ? 'worker' : undefined),
    computed: {
      receipt_key: (session, input) => {
        const file = input.text('receipt-key-file')
        return file === undefined ? undefined : session.receiptKey(file).publicKey
      },
    },
  }),
  apiCommand('claim', 'claimSpot', {
    description:
      'By wallet: --display-name and a key, which signs the claim oath.\nBy e-mail: --email and --display-name send a code; then --email and --code claim the spot.',
    oath: (input) => (input.text('email') === undefined ? 'claim' : undefined),
    needsKey: (input) => input.text('email') === undefined,
  }),
  ...receiptCommands,
  ...verifyCommands,
  logVerify,
  recompute,
  rulesTry,
  reputationTry,
  apiCommand('partner signup', 'signupPartner', {
    args: { tier: option('tier', 'tier (default: free)') },
    oath: () => 'partner',
    computed: { tier: (_session, input) => input.text('tier') ?? 'free' },
  }),
  apiCommand('partner me', 'getMyPartner'),
  apiCommand('partner subscribe', 'changeSubscription', {
    description:
      'Without a payment, prints the price. Any wallet may pay; the key identifies the subscription.',
    operands: ['tier'],
  }),
  apiCommand('partner cancel', 'cancelSubscription'),
  apiCommand('partner attestation', 'updateAttestationEndpoint', { operands: ['url'] }),
  apiCommand('job list', 'listJobs', {
    columns: ['id', 'status', 'budget_usdc', 'bids_count', 'deadline', 'title'],
  }),
  apiCommand('job show', 'getJob'),
  apiCommand('job bids', 'listBids', {
    columns: ['id', 'status', 'price_usdc', 'eta_hours', 'bidder', 'proposal'],
  }),
  apiCommand('job post', 'postJob'),
  apiCommand('job bid', 'bidOnJob'),
  apiCommand('job award', 'awardJob'),
  apiCommand('job deliver', 'deliverJob', {
    args: {
      file: option('path', 'file with the work, to compute its SHA-256'),
      sha256: option('hex', 'SHA-256 of the work, instead of --file'),
    },
    computed: { content_sha256: (_session, input) => sha256OfDelivery(input) },
  }),
  apiCommand('job accept', 'acceptJob'),
  apiCommand('job dispute', 'disputeJob'),
  apiCommand('job cancel', 'cancelJob'),
  apiCommand('alerts feed', 'getAlertFeed', {
    columns: ['created_at', 'kind', 'severity', 'rail', 'title'],
    footer: ({ next_poll_hint: next }) =>
      `Next: --since ${next.since}, in ${next.after_seconds} s.\n`,
  }),
  apiCommand('alerts subscribe', 'subscribeAlerts', { operands: ['url'] }),
  apiCommand('alerts subscriptions', 'listAlertSubscriptions', {
    columns: ['id', 'status', 'url', 'rails', 'severity'],
  }),
  apiCommand('alerts deliveries', 'listAlertDeliveries', {
    columns: ['id', 'type', 'status', 'attempts', 'last_status', 'last_error'],
  }),
  apiCommand('alerts test', 'testAlerts'),
  apiCommand('alerts enable', 'enableAlerts'),
  apiCommand('alerts rotate', 'rotateAlertSecret'),
  apiCommand('alerts unsubscribe', 'unsubscribeAlerts'),
  apiCommand('apply', 'applyToRail', {
    operands: ['rail'],
    args: { worker: option('wallet', 'wallet of the worker (default: your own)') },
    computed: {
      worker_wallet: async (session, input) =>
        input.text('worker') ?? (await session.signer()).wallet,
    },
  }),
  apiCommand('arbitrage', 'getArbitrage', {
    columns: [
      'rail',
      'status',
      'expected_usd_per_day_per_creator',
      'expected_usd_per_day_per_worker',
      'breakeven_days',
      'confidence',
    ],
    footer: ({ caveats }) => caveats.map((caveat) => `- ${caveat}\n`).join(''),
  }),
  apiCommand('feedback', 'submitFeedback', { operands: ['message'] }),
  apiCommand('skill propose', 'proposeSkill', { operands: ['name'] }),
  apiCommand('rails', 'listRails', {
    columns: ['rail', 'status', 'chain', 'tpv_30d_usdc', 'unique_workers_30d', 'figures_source'],
    // The document lists an unknown figure as 0.
    rows: ({ rails }) =>
      rails.map((rail) => ({
        ...rail,
        status: rail.judged ? rail.status : 'not judged',
        ...Object.fromEntries(rail.unknown_figures.map((figure) => [figure, null])),
      })),
  }),
  apiCommand('rail', 'getRail'),
  apiCommand('opportunities', 'listOpportunities', {
    columns: ['rail', 'chain', 'expected_usd_per_day', 'entry_cost_usdc', 'apply_url'],
  }),
  apiCommand('flags', 'listHonestyFlags', {
    columns: ['severity', 'kind', 'rail', 'opened_at', 'title'],
  }),
  ...adminCommands,
]
