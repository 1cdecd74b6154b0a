import type { PollRecord, RailRecord, World } from '../../builder/world/world.ts'
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { Figures } from '../../src/core/figures.ts'
import { hourMs } from '../../src/core/time.ts'
import { figures } from './figures.ts'

/** Saturday of ISO week 47. */
export const worldNowMs = Date.parse('2026-11-21T06:30:00.000Z')
const lastPollMs = worldNowMs - 15 * 60_000

type Authored = RailRecord['authored']

function authoredRail(rail: string, changes: Partial<Authored> = {}): Authored {
  return {
    rail,
    display_name: `Rail ${rail}`,
    chain: 'base',
    category: 'earning',
    evidence_tier: 'A',
    entry_cost_usdc: 0,
    entry_requirements: null,
    reference_url: `https://${rail.replaceAll('_', '-')}.example/`,
    methodology: `Reads the payouts of ${rail} from its contract, in windows that hold their start and not their end.`,
    status_basis: 'payments',
    audit: {
      as_of: '2026-10-01',
      status: 'dormant',
      reason: 'No payout was found.',
      source: 'Read by hand.',
      figures: {},
    },
    sources: ['the contract'],
    ...changes,
  }
}

/** A rail whose last poll was good. */
export function railRecord(
  rail: string,
  changes: {
    readonly authored?: Partial<Authored>
    readonly state?: Partial<RailRecord['state']>
    readonly rule?: RailRecord['rule']
    readonly evidence?: RailRecord['evidence']
    readonly backfill?: RailRecord['backfill']
  } = {},
): RailRecord {
  return {
    authored: authoredRail(rail, changes.authored),
    state: {
      rail,
      status: 'paying',
      statusSinceMs: Date.parse('2026-11-18T12:00:00Z'),
      statusRules: '3',
      statusReasons: [],
      undecidedSinceMs: null,
      figures: figures(),
      removed30d: { 'self-payment': 3 },
      notes: [],
      figuresSource: 'poll',
      figuresAsOfMs: lastPollMs,
      lastPollAtMs: lastPollMs,
      lastGoodPollAtMs: lastPollMs,
      lastDurationMs: 1250,
      lastError: null,
      consecutiveFailures: 0,
      ...changes.state,
    },
    rule:
      changes.rule === undefined
        ? { name: rail, version: '1', text: 'All payouts count.' }
        : changes.rule,
    evidence: changes.evidence ?? [],
    backfill: changes.backfill ?? null,
  }
}

export function goodPoll(polledAtMs: number, changes: Partial<Figures> = {}): PollRecord {
  return {
    polledAtMs,
    durationMs: 900,
    outcome: 'ok',
    error: null,
    figures: figures(changes),
    status: 'paying',
    rule: 'payouts v1',
  }
}

export function failedPoll(polledAtMs: number, error = 'HTTP 500'): PollRecord {
  return { ...goodPoll(polledAtMs), outcome: 'failed', error, figures: null }
}

const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
const payer = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'
const receiptId = `rcp_${'ab'.repeat(32)}`
const txHash = `0x${'cd'.repeat(32)}`

const leaderboard: World['community']['leaderboard'] = [
  {
    rank: 1,
    wallet,
    display_name: null,
    claimed: false,
    rep_score: 12.5,
    receipts_count: 1,
    total_usdc_lifetime: 12.5,
    last_receipt_at: '2026-11-20T11:00:00.000Z',
  },
]

const openFlags: readonly Flag[] = [
  {
    id: 'flg_01',
    rail: 'delta',
    kind: 'poll_failed',
    severity: 'info',
    title: 'Rail delta: the last poll failed, figures are carried over',
    evidence: {
      poll_error: '@host answered HTTP 500',
      consecutive_failures: 4,
      last_good_poll_at: null,
    },
    opened_at: '2026-11-19T06:15:00.000Z',
  },
  {
    id: 'flg_02',
    rail: 'alpha',
    kind: 'self_dealing',
    severity: 'warning',
    title: 'Rail alpha: more than half of the raw volume does not pass the filter rule',
    evidence: { tpv_30d_raw_usdc: 1200, tpv_30d_usdc: 500, threshold: 0.5 },
    opened_at: '2026-11-18T06:15:00.000Z',
  },
]

const pactManifests: World['pacts']['manifests'][number] = {
  pactId: 14,
  title: 'A report',
  checked: { workHash: null, canonicalText: null, spec: null, refusals: [], notes: [] },
  updatedAtMs: worldNowMs,
  specText: '{"spec_version":"3.0.0"}\n',
  instanceText: '{"pact_id":14}\n',
}

/** One object, by which the OpenAPI document of the site is cached. */
const site: World['site'] = {
  url: 'https://ledger.test',
  serviceName: 'agent-income-ledger',
  version: '0.1.0',
  historyUrl: null,
  payments: { settlement: 'off', receiver: null },
}

/**
 * A small world: a paying rail, a rail with unknown figures and a name that is a spreadsheet formula, a failing rail, an
 * audited rail, flags, articles, a receipt and pacts.
 */
export function smallWorld(changes: Partial<World> = {}): World {
  const alpha = railRecord('alpha', {
    authored: { sample_apply_url: 'https://alpha.example/apply', entry_requirements: ['a wallet'] },
    evidence: [
      { kind: 'logs', chain: 'base', contract: payer, from_block: 100, to_block: 220, logs: 40 },
    ],
  })
  const beta = railRecord('beta', {
    authored: {
      display_name: '=HYPERLINK("https://evil.example","Beta")',
      notes: 'Shows no prices.',
    },
    state: {
      status: 'pre-traction',
      figures: { ...unknownFigures, uniqueCreators30d: 3, activity30d: 9 },
      notes: ['The rule for concentrated was skipped: the share of the top worker is unknown.'],
    },
    evidence: [
      { kind: 'http', url: 'https://beta.example/jobs', sha256: 'ef'.repeat(32), items: 9 },
    ],
  })
  const delta = railRecord('delta', {
    state: {
      figuresAsOfMs: worldNowMs - 50 * hourMs,
      lastGoodPollAtMs: worldNowMs - 50 * hourMs,
      lastError: '@host answered HTTP 500',
      consecutiveFailures: 4,
    },
  })
  const gamma = railRecord('gamma', {
    authored: { chain: 'off-chain', category: 'discovery', evidence_tier: 'C' },
    rule: null,
    state: {
      status: 'dormant',
      figures: { ...unknownFigures, tpv30dMicroUsdc: 0 },
      removed30d: {},
      figuresSource: 'audit',
      figuresAsOfMs: Date.parse('2026-10-01T00:00:00Z'),
      lastPollAtMs: null,
      lastGoodPollAtMs: null,
      lastDurationMs: 0,
    },
  })
  return {
    nowMs: worldNowMs,
    site,
    disputes: { newest: [], total: 0, next: null },
    pollEveryMs: 6 * hourMs,
    rails: [alpha, beta, delta, gamma],
    history: new Map([
      [
        'alpha',
        [goodPoll(lastPollMs), goodPoll(lastPollMs - 6 * hourMs, { topWorkerShare: 1 / 3 })],
      ],
      ['beta', [{ ...goodPoll(lastPollMs), figures: { ...unknownFigures, uniqueCreators30d: 3 } }]],
      [
        'delta',
        [failedPoll(lastPollMs, '@host answered HTTP 500'), goodPoll(worldNowMs - 50 * hourMs)],
      ],
    ]),
    openFlags,
    closedFlags: [],
    changelog: null,
    runs: [],
    receiptRun: null,
    events: [],
    taxonomy: {
      note: 'What agents sell.',
      skills: [
        {
          slug: 'technical-writing',
          name: 'Technical writing',
          category: 'writing-content',
          surface: ['alpha'],
          description: 'Writes manuals.',
        },
      ],
    },
    tiers: [
      {
        tier: 'free',
        name: 'Free',
        price_usdc_month: 0,
        wallet_rate_multiplier: 1,
        features: ['A record.'],
        covers: ['/og'],
      },
    ],
    platforms: [],
    exported: {
      as_of: '2026-11-20T04:53:00.000Z',
      set_version: 7,
      files: [],
    },
    oaths: [{ kind: 'worker', version: 1, text: 'I, {WALLET}, at {TIMESTAMP}.' }],
    articles: [
      {
        slug: 'first-words',
        title: 'First "words" \\ and more',
        date: '2026-11-02',
        excerpt: 'What it is.',
        keywords: ['ledger'],
        body: 'A paragraph.\n',
        charts: [],
      },
      {
        slug: 'second-words',
        title: 'Second words',
        date: '2026-11-16',
        excerpt: 'What it shows.',
        keywords: ['ledger', 'chart'],
        body: '![A chart: 1; 2](https://ledger.test/desk/second-words.svg)\n',
        charts: [{ name: 'second-words', svg: '<svg xmlns="http://www.w3.org/2000/svg"></svg>' }],
      },
    ],
    views24h: new Map([['first-words', 7]]),
    docs: [],
    agentSkills: new Map([
      ['pacts', '---\nname: pacts\n---\n{SERVICE_NAME}: {BASE_URL}/pacts, {SITE_URL}\n'],
      ['desk', '---\nname: desk\n---\n{SERVICE_NAME}: {BASE_URL}/desk/feed.json\n'],
      [
        'register-and-earn',
        '---\nname: register-and-earn\n---\n{SERVICE_NAME}: {BASE_URL}/skills\n',
      ],
    ]),
    signingKeys: {
      keys: [
        {
          kid: '0123456789abcdef',
          alg: 'ed25519',
          public_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
          status: 'active',
          created_at: '2026-11-01T00:00:00.000Z',
        },
      ],
    },
    community: {
      workers: [
        {
          wallet,
          skills: ['technical-writing'],
          registered_at: '2026-11-20T10:00:00.000Z',
          updated_at: '2026-11-20T10:00:00.000Z',
        },
      ],
      workersTotal: 1,
      workersNext: null,
      partnersNext: null,
      receipts: [
        {
          receipt_id: receiptId,
          rail: 'alpha',
          chain: 'base',
          tx_hash: txHash,
          from_wallet: payer,
          to_wallet: wallet,
          amount_usdc: 12.5,
          asset_symbol: 'USDC',
          occurred_at: '2026-11-20T11:00:00.000Z',
          kind: 'signed',
          verification: 'verified',
          onchain_verified: true,
          accepted_at: '2026-11-20T11:05:00.000Z',
          url: `https://ledger.test/api/v1/receipts/${receiptId}`,
        },
      ],
      receiptsTotal: 1,
      receiptsVerified: 1,
      receiptsNext: 'cmVjZWlwdHMuNQ',
      names: new Map(),
      leaderboard,
      leaderboardAsOf: '2026-11-21T00:00:00.000Z',
      leaderboardArchived: leaderboard,
      partners: [
        {
          handle: 'acme-agents',
          display_name: 'Acme Agents',
          wallet,
          tier: 'free',
          status: 'active',
          skills: ['technical-writing'],
          website: 'https://acme.example/',
          bio_short: 'Posts writing jobs.',
          attestation_endpoint_url: 'https://acme.example/attest',
          attestation_signature_sha256: '3b'.repeat(32),
          attestation_signed_at: '2026-11-20T09:30:00.000Z',
          oath_signed_at: '2026-11-20T09:00:00.000Z',
          created_at: '2026-11-20T09:00:00.000Z',
        },
      ],
      partnersTotal: 1,
    },
    exchange: {
      jobs: [
        {
          id: `job_${'1f'.repeat(12)}`,
          poster: payer,
          title: 'Translate a manual',
          description: 'Twenty pages, English to German.',
          skills: ['technical-writing'],
          budget_usdc: 40,
          deadline: '2026-12-01T00:00:00.000Z',
          status: 'open',
          bids_count: 2,
          created_at: '2026-11-20T09:00:00.000Z',
          updated_at: '2026-11-20T12:30:00.000Z',
          url: `https://ledger.test/api/v1/jobs/job_${'1f'.repeat(12)}`,
        },
      ],
      total: 1,
      open: 1,
      next: null,
      receiptsBy: {
        platform: 'job-exchange',
        rail: 'job_exchange',
        public_key: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
      },
    },
    pacts: {
      settled: [
        {
          pact_id: '12',
          job_id: 'pact-12',
          state: 'settled',
          chain: 'arbitrum',
          tx_hash: txHash,
          explorer_url: `https://arbiscan.io/tx/${txHash}`,
          receipt_id: receiptId,
          amount_usdc: 12.5,
          payer,
          worker: wallet,
          block_number: 457426042,
          settled_at: '2026-11-20T11:05:00.000Z',
          confirmed_by: ['receipt', 'escrow'],
        },
      ],
      inFlight: [
        {
          pact_id: '14',
          job_id: 'pact-14',
          state: 'in_flight',
          title: 'A report',
          spec_uri: 'https://pacts.example/spec.json',
          instance_uri: 'https://pacts.example/14.json',
          reproduce_uri: 'https://pacts.example/reproduce.mjs',
          phase_status: 'submitted',
          phase_blocker: null,
          next_action: 'The payer approves.',
          verifier_recipe: ['Run the script.', 'Compare the hash.'],
          work_hash: null,
          updated_at: '2026-11-20T12:00:00.000Z',
          confirmed_by: ['manifest'],
        },
      ],
      recorded: [
        {
          pact_id: '9',
          job_id: 'pact-9',
          state: 'recorded',
          title: 'A milestone',
          verification: 'unverified',
          confirmed: [],
          contradictions: [],
          chain: 'arbitrum',
          contract: '0x220B97972d6028Acd70221890771E275e7734BFB',
          source: { kind: 'publication', name: 'a public post', noted_on: '2026-11-01' },
          published: { as: 'settled', amount_pact: 3000, completed_on: '2026-04-13' },
        },
      ],
      events: new Map([
        [
          '12',
          (['created', 'submitted', 'approved'] as const).map((kind, at) => ({
            pactId: 12,
            kind,
            block: 457426040 + at,
            logIndex: at,
            txHash,
            atMs: Date.parse('2026-11-20T11:00:00Z') + at * 60_000,
            workHash: null,
            favorRecipient: null,
          })),
        ],
      ]),
      unread: 'not read',
      escrow: new Map(),
      disagreements: new Map(),
      manifests: [pactManifests],
      reproduceScript: "const pact = '@PACT@'\nconsole.log(pact.pact_id)\n",
    },
    ...changes,
  }
}
