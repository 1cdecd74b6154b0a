import type { Route } from '../../src/contract/route.ts'
import { routeIds, routeOf } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { openMonthText } from '../../src/core/statement.ts'
import { adminCommands } from './admin.ts'
import { apiCommand } from './api-command.ts'
import type { Additions } from './api-command.ts'
import { flag, option } from './command.ts'
import type { Command } from './command.ts'
import { targetArguments, targetOf } from './dispute-target.ts'
import { sha256OfDelivery } from './files.ts'
import { keygen } from './keygen.ts'
import { alertsListen } from './listen.ts'
import { logVerify } from './log.ts'
import { receiptCommands } from './receipts.ts'
import { recompute } from './recompute.ts'
import { reputationTry, rulesTry } from './rules.ts'
import { verifyCommands } from './verify.ts'

export const additions: { readonly [Id in RouteId]?: Additions<Id> } = {
  getStatsLive: { words: 'stats' },
  listRails: { columns: 'rail status chain tpv_30d_usdc unique_workers_30d figures_source' },
  getRail: { words: 'rail' },
  getRailHistory: {
    columns: 'polled_at outcome status tpv_30d_usdc unique_workers_30d poll_error',
  },
  getStatusRules: { words: 'rules' },
  listOpportunities: { columns: 'rail chain expected_usd_per_day entry_cost_usdc apply_url' },
  applyToRail: {
    words: 'apply',
    operands: ['rail'],
    args: { worker: option('wallet', 'wallet of the worker (default: your own)') },
    computed: {
      worker_wallet: async (session, input) =>
        input.text('worker') ?? (await session.signer()).wallet,
    },
  },
  getArbitrage: {
    columns:
      'rail status expected_usd_per_day_per_creator expected_usd_per_day_per_worker breakeven_days confidence',
    footer: ({ caveats }) => caveats.map((caveat) => `- ${caveat}\n`).join(''),
  },
  getAlertFeed: {
    words: 'alerts feed',
    columns: 'created_at kind severity rail title',
    footer: ({ events, next_poll_hint: next }) =>
      events.length === 0 ? '' : `Next: --since ${next.since}, in ${next.after_seconds} s.\n`,
  },
  subscribeAlerts: { words: 'alerts subscribe', operands: ['url'] },
  listAlertSubscriptions: {
    words: 'alerts subscriptions',
    columns: 'id status url rails severity',
  },
  getAlertSubscription: { words: 'alerts subscription' },
  unsubscribeAlerts: { words: 'alerts unsubscribe' },
  rotateAlertSecret: { words: 'alerts rotate' },
  listAlertDeliveries: {
    words: 'alerts deliveries',
    columns: 'id type status attempts last_status last_error',
  },
  submitFeedback: { words: 'feedback', operands: ['message'] },
  getLeaderboard: {
    columns: 'rank rep_score receipts_count total_usdc_lifetime wallet display_name',
  },
  listWorkers: { columns: 'wallet registered_at display_name skills' },
  registerWorker: {
    words: 'register',
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
  },
  claimSpot: {
    words: 'claim',
    description:
      'By wallet: --display-name and a key, which signs the claim oath.\nBy e-mail: --email and --display-name send a code; then --email and --code claim the spot.',
    oath: (input) => (input.text('email') === undefined ? 'claim' : undefined),
    needsKey: (input) => input.text('email') === undefined,
  },
  listStatements: {
    columns: 'month total_usdc running_total_usdc closed_at sha256',
    rows: ({ statements }) => statements,
    footer: ({ open_months }) =>
      open_months.map(({ month }) => `${openMonthText(month)}\n`).join(''),
  },
  getReputation: { words: 'reputation' },
  listReceipts: { columns: 'occurred_at rail amount_usdc verification receipt_id' },
  listPlatforms: { columns: 'platform name added_at public_key' },
  listJobs: { columns: 'id status budget_usdc bids_count deadline title' },
  listBids: { words: 'job bids', columns: 'id status price_usdc eta_hours bidder proposal' },
  getDelivery: { words: 'job delivery' },
  bidOnJob: { words: 'job bid' },
  deliverJob: {
    args: {
      file: option('path', 'file with the work, to compute its SHA-256'),
      sha256: option('hex', 'SHA-256 of the work, instead of --file'),
    },
    computed: { content_sha256: (_session, input) => sha256OfDelivery(input) },
  },
  listPartners: { columns: 'handle tier status created_at wallet display_name' },
  listTiers: { columns: 'tier price_usdc_month covers' },
  signupPartner: {
    args: { tier: option('tier', 'tier (default: free)') },
    oath: () => 'partner',
    computed: { tier: (_session, input) => input.text('tier') ?? 'free' },
  },
  getMyPartner: { words: 'partner me' },
  updateMyPartner: { words: 'partner update' },
  changeSubscription: {
    words: 'partner subscribe',
    description:
      'Without a payment, prints the price. Any wallet may pay; the key identifies the subscription.',
    operands: ['tier'],
  },
  cancelSubscription: { words: 'partner cancel' },
  listPartnerOaths: { columns: 'time kind action wallet' },
  updateAttestationEndpoint: { words: 'partner attestation', operands: ['url'] },
  listSkills: { columns: 'slug category name' },
  proposeSkill: { operands: ['name'] },
  listPacts: {
    columns: 'pact_id state phase_status verification title',
    rows: ({ settled, in_flight: inFlight, recorded }) => [...settled, ...inFlight, ...recorded],
  },
  listHonestyFlags: { words: 'flags', columns: 'id severity kind rail opened_at title' },
  listDisputes: { columns: 'dispute_id state standing opened_at rail figure' },
  openDispute: {
    description:
      'Names its target by one of --document, --flag and --receipt. The claim is published with your wallet.',
    args: targetArguments,
    computed: { target: targetOf },
  },
  withdrawDispute: {
    computed: { dispute_id: (_session, input) => input.required('id') },
  },
  getDeskFeed: { words: 'desk', columns: 'date views_24h slug title' },
  getIndex: { words: 'requests', columns: 'method access path summary' },
  getOpenApi: { words: 'openapi', text: prettySorted },
  getX402Discovery: { words: 'prices', columns: 'price_usdc method path covered_by' },
  getX402Manifest: { words: 'catalogue', text: prettySorted },
  getSnapshotManifest: { columns: 'path size changed_at' },
  getExport: { columns: 'path rows size sha256' },
}

/** Images, tiles and databases are no text. `receipt post` also signs the receipt; a new wallet of a partner has its own key. */
export function hasCommand({ id, method, answers }: Route): boolean {
  const type = answers[200]?.contentType ?? 'application/json'
  const isText = method !== 'GET' || /^(?:application\/.*json$|text\/)/.test(type)
  return isText && id !== 'submitReceipt' && id !== 'changePartnerWallet'
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is the id of both
function commandOf<Id extends RouteId>(id: Id): Command {
  return apiCommand(id, additions[id])
}

const under = (section: string, of: readonly Command[]) =>
  of.map((command) => ({ ...command, section }))

export const commands: readonly Command[] = [
  ...under('Keys', [keygen]),
  ...routeIds.filter((id) => hasCommand(routeOf(id))).map(commandOf),
  ...under('Alerts', [alertsListen]),
  ...under('Receipts', receiptCommands),
  ...under('Verification', [...verifyCommands, logVerify, recompute, rulesTry, reputationTry]),
  ...under('Operation', adminCommands),
]
