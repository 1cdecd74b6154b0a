/** Worlds that fill every kind of page. */
import type { AuthoredRail } from '../../builder/world/authored-rails.ts'
import { loadDocs } from '../../builder/world/docs.ts'
import type { LedgerEvent, PollRecord, World } from '../../builder/world/world.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { failedPoll, goodPoll, railRecord, smallWorld, worldNowMs } from '../support/world.ts'

const docs = await loadDocs(new URL('../../data/docs', import.meta.url).pathname)

/** Ninety days of polls, four a day: a volume that swings, a gap of failures, a day of unknown figures. */
function longHistory(): PollRecord[] {
  return Array.from({ length: 360 }, (_, index) => {
    const polledAtMs = worldNowMs - 15 * 60_000 - index * 6 * hourMs
    if (index % 97 < 5) return failedPoll(polledAtMs, 'HTTP 503')
    const wave = 1 + Math.sin(index / 23) / 3
    const week = Math.round(2_400_000_000 * wave)
    const poll = goodPoll(polledAtMs, {
      tpv30dMicroUsdc: week * 4,
      tpv30dRawMicroUsdc: Math.round(week * 5.5),
      tpv7dMicroUsdc: week,
      tpv7dRawMicroUsdc: Math.round(week * 1.4),
    })
    return index > 200 ? { ...poll, status: 'pre-traction' as const } : poll
  })
}

const events: readonly LedgerEvent[] = [
  {
    seq: 3,
    kind: 'rail_transition',
    rail: 'alpha',
    title: 'Rail alpha: pre-traction → paying',
    data: {
      from: 'pre-traction',
      to: 'paying',
      figures: {
        tpv30dMicroUsdc: 1_000_000_000,
        uniqueCreators30d: 9,
        uniqueWorkers30d: 12,
        topWorkerShare: 0.4,
      },
    },
    createdAtMs: worldNowMs - 50 * dayMs,
  },
]

/** The small world with a history to draw, transitions, closed flags and runs of jobs. */
export function fullWorld(siteUrl: string, changes: Partial<World> = {}): World {
  const base = smallWorld()
  return smallWorld({
    site: { ...base.site, url: siteUrl, historyUrl: 'https://github.com/example/ledger' },
    rails: base.rails,
    history: new Map([...base.history, ['alpha', longHistory()]]),
    events,
    closedFlags: [
      {
        id: 'flg_00',
        rail: 'alpha',
        kind: 'concentrated',
        severity: 'warning',
        title: 'Rail alpha: one worker takes more than 90 %',
        evidence: { top_worker_share: 0.95, threshold: 0.9 },
        opened_at: '2026-11-01T06:15:00.000Z',
        closed_at: '2026-11-03T06:15:00.000Z',
        close_reason: 'A good poll no longer shows it.',
      },
    ],
    runs: [
      {
        id: 1,
        job: 'poll',
        startedAt: '2026-11-21T06:15:00.000Z',
        finishedAt: '2026-11-21T06:15:04.000Z',
        outcome: 'ok',
        detail: '3 polled, 1 failed',
      },
    ],
    docs,
    agentSkills: new Map(
      ['desk', 'pacts', 'register-and-earn'].map((name) => [
        name,
        `---\nname: ${name}\ndescription: How to read {SITE_URL}.\n---\n\nBody.\n`,
      ]),
    ),
    changelog: '# Changelog\n\n## [0.1.0]\n\n### Added\n\n- Everything.\n',
    ...changes,
  })
}

function hostileAudit(text: string): AuthoredRail['audit'] {
  const claim = {
    figure: text,
    value: 1,
    unit: text,
    from: null,
    to: '2026-11-01',
    counted_by: text,
    source: 'https://outside.example/',
    method: text,
    kind: 'operator',
    covers: 'people',
    confidence: 'low',
  } as const
  const status = 'pre-traction'
  return { as_of: '2026-11-01', status, reason: text, source: text, figures: {}, claims: [claim] }
}

/** The full world with texts from outside replaced by hostile ones, one rail and one worker for each. */
export function hostileWorld(siteUrl: string, strings: readonly string[]): World {
  const base = fullWorld(siteUrl)
  const [receipt] = base.community.receipts
  const [settled] = base.pacts.settled
  const [inFlight] = base.pacts.inFlight
  const [recorded] = base.pacts.recorded
  const [flag] = base.openFlags
  const [article] = base.articles
  const [skill] = base.taxonomy.skills
  const [job] = base.exchange.jobs
  if (!receipt || !settled || !inFlight || !recorded || !flag || !article || !skill || !job) {
    throw new Error('the small world lost an entry')
  }
  const hex = (index: number) => index.toString(16).padStart(64, '0')
  return {
    ...base,
    rails: strings.map((text, index) =>
      railRecord(`rail-${index}`, {
        authored: {
          display_name: text,
          notes: text,
          methodology: text,
          differs: text,
          entry_requirements: [text],
          sources: [text],
          sample_apply_url: `javascript:alert(${index})`,
          reference_url: `https://outside.example/"><script>alert(${index})</script>`,
          audit: hostileAudit(text),
        },
        state: { lastError: text, notes: [text], removed30d: { [text]: 1 } },
        evidence: [{ kind: 'http', url: text, sha256: text, items: 1 }],
      }),
    ),
    history: new Map(
      strings.map((text, index) => [`rail-${index}`, [failedPoll(worldNowMs, text)]]),
    ),
    openFlags: strings.map((text, index) => ({
      ...flag,
      id: `flg_${index}`,
      rail: `rail-${index}`,
      title: text,
      evidence: { [text]: text },
    })),
    closedFlags: [],
    events: strings.map((text, index) => ({
      seq: index,
      kind: 'rail_transition',
      rail: `rail-${index}`,
      title: text,
      data: {},
      createdAtMs: worldNowMs,
    })),
    taxonomy: {
      note: strings[0] ?? '',
      skills: strings.map((text, index) => ({
        ...skill,
        slug: `skill-${index}`,
        name: text,
        description: text,
        surface: [],
      })),
    },
    articles: strings.map((text, index) => ({
      ...article,
      slug: `article-${index}`,
      title: text,
      excerpt: text,
      keywords: [text],
      body: `${text}\n\n[x](${text}) ![y](${text})\n\n| a |\n| --- |\n| ${text} |\n`,
    })),
    views24h: new Map(),
    community: {
      ...base.community,
      workers: strings.map((text, index) => ({
        wallet: hex(index),
        display_name: text,
        skills: [text],
        bio: text,
        url: text,
        receipt_key: text,
        registered_at: receipt.accepted_at,
        updated_at: receipt.accepted_at,
      })),
      receipts: strings.map((text, index) => ({
        ...receipt,
        receipt_id: `rcp_${hex(index)}`,
        summary: text,
        job_id: text,
        platform: text,
        kind: 'platform',
        evidence_url: text,
        explorer_url: text,
        verification_reason: text,
      })),
      leaderboard: strings.map((text, index) => ({
        rank: index + 1,
        wallet: hex(index),
        display_name: text,
        claimed: true,
        rep_score: 1,
        receipts_count: 1,
        total_usdc_lifetime: 1,
        last_receipt_at: null,
      })),
    },
    exchange: {
      ...base.exchange,
      jobs: strings.map((text, index) => ({
        ...job,
        id: `job_${hex(index).slice(-24)}`,
        title: text,
        description: text,
        skills: [text],
      })),
    },
    pacts: {
      unread: null,
      settled: strings.map((text, index) => ({
        ...settled,
        pact_id: `1${index}`,
        title: text,
        explorer_url: text,
      })),
      inFlight: strings.map((text, index) => ({
        ...inFlight,
        pact_id: `2${index}`,
        title: text,
        spec_uri: text,
        next_action: text,
        phase_blocker: text,
        verifier_recipe: [text],
      })),
      recorded: strings.map((text, index) => ({
        ...recorded,
        pact_id: `3${index}`,
        title: text,
        contradictions: [text],
        source: { kind: 'publication' as const, name: text, url: text },
      })),
      events: new Map(),
      escrow: new Map(),
      disagreements: new Map([['10', [...strings]]]),
      manifests: [],
      reproduceScript: null,
    },
    changelog: strings.join('\n\n'),
  }
}
