/** Cheats of an operator who has all keys, and what `log verify --ledger` says about rows that the log does not cover. */
import { execFileSync } from 'node:child_process'

import { expect, test } from 'vitest'

import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { tempFolder } from '../db/temp-database.ts'
import { runCommand } from '../support/command-line.ts'
import { createTestLog, logClock, logVkey, serveTestLog } from '../support/test-log.ts'

type Json = Record<string, unknown>
interface Ledger {
  /** Kind, id, hashed text, minutes since the log began, and the rail of a poll. */
  readonly entries: [kind: string, id: string, text: string, minute: number, rail?: string][]
  readonly lists: Record<string, Record<string, Json[] | Json | number>>
}

const startMs = Date.UTC(2026, 10, 1)
const time = (minute: number) => new Date(startMs + minute * 60_000).toISOString()
const hash = (value: unknown) => sha256Hex(canonicalize(value))

const bundles = ['{"poll":1}', '{"poll":2}'].map((text) => sha256Hex(text))
const poll = (at: number, tpv: number, error?: string): Json => ({
  polled_at: time(at),
  tpv_30d_usdc: tpv,
  parties_30d: null,
  evidence_uri: `/evidence/${bundles[at === 0 ? 0 : 1] ?? ''}.json`,
  ...(error === undefined ? {} : { poll_error: error }),
})
const flag: Json = { id: 'flg_1', rail: 'x402', evidence: { share: 0.9 }, opened_at: time(100) }
const platform: Json = { platform: 'acme', public_key: 'AAAA', rails: ['x402'] }
const revoked: Json = { platform: 'gone', public_key: 'RRRR', revoked_at: time(60) }
const content: Json = {
  to_wallet: `0x${'ab'.repeat(20)}`,
  chain: 'gnosis',
  amount_usdc: '5.00',
  platform: 'acme',
}
const unverified: Json = { to_wallet: `0x${'ab'.repeat(20)}`, amount_usdc: '6.00' }
const onchain: Json = { verdict: 'final', since: time(130) }
const steps = [
  { step_id: 'dsp_1/opened', event: 'opened', at: time(200), text: 'wrong', wallet: '0xb' },
  { step_id: 'dsp_1/answered', event: 'answered', at: time(210), text: 'right' },
].map((step): Json => ({ ...step, dispute_id: 'dsp_1' }))
const dispute: Json = {
  dispute_id: 'dsp_1',
  state: 'answered',
  claim: 'wrong',
  wallet: '0xb',
  opened_at: time(200),
  updated_at: time(210),
  steps,
}
const statement: Ledger['lists'][string] = {
  total_usdc: 0,
  receipts: [{ receipt_id: 'rcp_1' }],
}
const statementId = `0x${'ab'.repeat(20)}/2026-10 ${hash(statement)}`
const statements = `/api/v1/workers/0x${'ab'.repeat(20)}/statements`
const article = '---\ntitle: "A week"\n---\n'
const pageOf = (name: string, rows: Json[]) => ({ [name]: rows })
const key = (owner: string, public_key: string) => ({ owner, public_key })

/** A ledger that has logged all that it serves. */
function honest(): Ledger {
  const [failed, good] = [poll(0, 0, '502'), poll(90, 7)]
  const row = ({ parties_30d: _, ...one }: Json) => canonicalize({ ...one, rail: 'x402' })
  const text = canonicalize
  const [acme, gone] = [key('acme', 'AAAA'), key('gone', 'RRRR')]
  const entries: Ledger['entries'] = [
    ['key', hash(key('service', 'SSSS')), text(key('service', 'SSSS')), 0],
    ['key', hash(key('job-exchange', 'EEEE')), text(key('job-exchange', 'EEEE')), 0],
    ['key', hash(acme), text(acme), 0],
    ['platform', `acme ${hash(platform)}`, text(platform), 0],
    ['platform', 'gone 2', text(revoked), 61],
    ['key', hash(gone), text(gone), 0],
    ['key', `${hash(gone)} ${time(60)}`, text({ ...gone, revoked_at: time(60) }), 61],
    ['article', `week ${sha256Hex(article)}`, article, 1],
    ['poll', bundles[0] ?? '', '{"poll":1}', 1],
    ['history', bundles[0] ?? '', row(failed), 1],
    ['poll', bundles[1] ?? '', '{"poll":2}', 91],
    ['history', bundles[1] ?? '', row(good), 91],
    ['flag', 'flg_0 opened', '{"id":"flg_0"}', 91],
    ['flag', 'flg_0 closed', '{"id":"flg_0","closed_at":"…"}', 92],
    ['flag', 'flg_1 opened', text(flag), 100],
    ['receipt', 'rcp_1', text(content), 120],
    ['receipt', 'rcp_2', text(unverified), 122],
    ['check', `rcp_1 ${time(125)}`, text({ receipt_id: 'rcp_1', verdict: 'safe' }), 125],
    ['check', `rcp_1 ${time(130)}`, text({ receipt_id: 'rcp_1', ...onchain }), 130],
    ['statement', statementId, text(statement), 180],
    ['dispute', 'dsp_1/opened', text(steps[0]), 201],
    ['dispute', 'dsp_1/answered', text(steps[1]), 211],
    ['snapshot', 'first', '{"version":1}', 2],
    ['snapshot', 'second', '{"version":2}', 220],
  ]
  return {
    entries: entries.toSorted((one, other) => one[3] - other[3]),
    lists: {
      '/snapshot.json': { version: 2 },
      '/api/v1/rails': pageOf('rails', [{ rail: 'x402' }]),
      '/api/v1/rails/x402/history': pageOf('polls', [good, failed]),
      '/api/v1/honesty/flags': pageOf('flags', [flag]),
      '/api/v1/platforms': {
        platforms: [platform, { ...revoked, revoked_index: 10 }],
        receipts_by: { platform: 'job-exchange', public_key: 'EEEE' },
      },
      '/.well-known/signing-keys.json': pageOf('keys', [{ public_key: 'SSSS' }]),
      '/api/v1/workers?limit=200': pageOf('workers', [{ wallet: `0x${'cd'.repeat(20)}` }]),
      [statements]: pageOf('statements', [{ month: '2026-10', closed_at: time(180) }]),
      [`${statements}/2026-10`]: statement,
      '/api/v1/desk/feed.json': pageOf('articles', [{ slug: 'week', date: '2026-10-31' }]),
      '/api/v1/disputes?limit=200': pageOf('disputes', [dispute]),
      '/api/v1/receipts?content=true&limit=200': pageOf('receipts', [
        {
          receipt_id: 'rcp_1',
          to_wallet: `0x${'AB'.repeat(20)}`,
          amount_usdc: 5,
          chain: 'gnosis',
          platform: 'acme',
          accepted_at: time(120),
          verification: 'verified',
          onchain_verified: true,
          content,
          onchain,
        },
        {
          receipt_id: 'rcp_2',
          to_wallet: `0x${'AB'.repeat(20)}`,
          amount_usdc: 6,
          chain: 'base',
          accepted_at: time(121),
          verification: 'unverified',
          onchain_verified: false,
          content: unverified,
        },
      ]),
    },
  }
}

async function verify({ entries, lists }: Ledger, text = article, ...more: string[]) {
  const log = createTestLog()
  let version = 0
  const last = new Map<string, number>()
  const leaves = entries.map(([kind, id, hashed, minute, rail = 'x402'], index) => {
    const entry: Json = { v: 1, kind, at: time(minute), id, sha256: sha256Hex(hashed) }
    if (kind === 'poll') Object.assign(entry, { outcome: 'ok' })
    if (kind === 'snapshot') Object.assign(entry, { version: (version += 1) })
    const subject = { key: id, poll: rail, history: rail }[kind]
    if (subject === undefined) return entry
    const prev = last.get(`${kind} ${subject}`) ?? null
    last.set(`${kind} ${subject}`, index)
    return { ...entry, ...(kind === 'key' ? { event: 'activates' } : {}), subject, prev }
  })
  await log.grow(leaves)
  const files = Object.entries(lists).map(
    ([path, list]) => [path, () => canonicalize(list)] as const,
  )
  const { url } = await serveTestLog(() => log, {
    ...Object.fromEntries(files),
    '/desk/week.md': () => text,
    '/desk/old.md': () => text,
  })
  const args = ['log', 'verify', '--vkey', logVkey, '--ledger', url, ...more]
  let slept = 0
  const sleep = async (ms: number) => {
    slept += ms
    await Promise.resolve()
  }
  const clock = { ...logClock, sleep }
  return { ...(await runCommand(args, {}, { fetch, clock })), slept }
}

const rowsOf = ({ lists }: Ledger, path: string, name: string): Json[] => {
  const rows = lists[path]?.[name]
  if (!Array.isArray(rows)) throw new Error(`${path} has no ${name}`)
  return rows
}
const history = '/api/v1/rails/x402/history'
const receipts = '/api/v1/receipts?content=true&limit=200'
const disputes = '/api/v1/disputes?limit=200'
const firstOf = (rows: Json[]): Json => {
  const [first] = rows
  if (first === undefined) throw new Error('there is no row')
  return first
}
const clone = (ledger: Ledger): Ledger => structuredClone(ledger)

test('log verify --ledger accepts a ledger whose log covers all that it serves, without waiting', async () => {
  const { out, code, slept } = await verify(honest())
  expect(out).toContain('good  history: 2 served, each with its entry, and no entry lacks its row')
  for (const kind of ['snapshot', 'poll', 'flag', 'key', 'platform', 'article', 'receipt', 'check'])
    expect(out).toContain(`good  ${kind}: `)
  expect(out).toContain('good  dispute: 2 served')
  expect([code, slept]).toEqual([0, 0])
})

/** Shows the hash of the first step instead of its text. */
function withhold(ledger: Ledger, reason: Json = { step_id: 'dsp_1/withheld', text: 'private' }) {
  const { text: _, ...rest } = steps[0] ?? {}
  const step: Json = { event: 'withheld', at: time(215), dispute_id: 'dsp_1', ...reason }
  const { claim: __, ...shown } = dispute
  const hidden: Json = { ...rest, sha256: hash(steps[0]) }
  const changes = { updated_at: time(215), steps: [hidden, steps[1] ?? {}, step] }
  const row: Json = { ...shown, ...changes }
  rowsOf(ledger, disputes, 'disputes')[0] = row
  ledger.entries.push(['dispute', 'dsp_1/withheld', canonicalize(step), 216])
  ledger.entries.sort((one, other) => one[3] - other[3])
  return { row, hidden, step }
}

test('log verify --ledger accepts a withheld text by the hash of its step, and says so', async () => {
  const ledger = honest()
  withhold(ledger)
  const { out, code } = await verify(ledger)
  expect(out).toContain('good  dispute: 3 served, each with its entry')
  expect(out).toContain('lacks its row; 1 withheld')
  expect(code).toBe(0)
})

const cheats: Readonly<Record<string, readonly [(ledger: Ledger) => void, string | RegExp]>> = {
  'inserts a backdated poll': [
    (ledger) => {
      const forged: Json = { ...poll(40, 70), evidence_uri: `/evidence/${'0'.repeat(64)}.json` }
      rowsOf(ledger, history, 'polls').splice(1, 0, forged)
    },
    `BAD   history: history of x402 at ${time(40)} is served without an entry`,
  ],
  'inserts a backdated poll with an entry of today': [
    (ledger) => {
      const id = sha256Hex('forged')
      const forged: Json = { ...poll(40, 70), evidence_uri: `/evidence/${id}.json` }
      rowsOf(ledger, history, 'polls').splice(1, 0, forged)
      const { parties_30d: _, ...row } = forged
      ledger.entries.push(['poll', id, 'forged', 230])
      ledger.entries.push(['history', id, canonicalize({ ...row, rail: 'x402' }), 230])
    },
    new RegExp(`is dated ${time(40)}, but follows rows of ${time(210)}`),
  ],
  'deletes a failed poll': [
    (ledger) => void rowsOf(ledger, history, 'polls').pop(),
    /BAD {3}history: entry \d+ \(history [0-9a-f]{64}, of \S+\) is not served/,
  ],
  'multiplies a past figure by ten': [
    (ledger) => void Object.assign(firstOf(rowsOf(ledger, history, 'polls')), { tpv_30d_usdc: 70 }),
    new RegExp(`BAD {3}history: history of x402 at ${time(90)} differs from entry \\d+`),
  ],
  'raises the total of a statement': [
    ({ lists }) => void Object.assign(lists[`${statements}/2026-10`] ?? {}, { total_usdc: 5 }),
    /BAD {3}statement: statement \S+ \w+ is served without an entry; entry \d+ \(statement \S+ \w+, of \S+\) is not served/,
  ],
  'deletes a statement': [
    ({ lists }) => void Object.assign(lists, { [statements]: pageOf('statements', []) }),
    /BAD {3}statement: entry \d+ \(statement \S+ \w+, of \S+\) is not served/,
  ],
  'drops a dispute': [
    (ledger) => void rowsOf(ledger, disputes, 'disputes').pop(),
    /BAD {3}dispute: entry \d+ \(dispute dsp_1\/opened, of \S+\) is not served/,
  ],
  'shows an open dispute as rejected': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, disputes, 'disputes')), { state: 'rejected' }),
    /BAD {3}dispute: dispute dsp_1\/answered differs from entry \d+/,
  ],
  'rewrites the claim of a dispute': [
    (ledger) => void Object.assign(firstOf(rowsOf(ledger, disputes, 'disputes')), { claim: 'no' }),
    /BAD {3}dispute: dispute dsp_1\/opened differs from entry \d+/,
  ],
  'adds an article dated before the log': [
    (ledger) => {
      const added = { slug: 'old', date: '2026-05-01' }
      rowsOf(ledger, '/api/v1/desk/feed.json', 'articles').push(added)
    },
    'BAD   article: article old is served without an entry',
  ],
  'adds an article dated before the log, with an entry of today': [
    (ledger) => {
      const added = { slug: 'old', date: '2026-05-01' }
      rowsOf(ledger, '/api/v1/desk/feed.json', 'articles').push(added)
      ledger.entries.push(['article', 'old 1', article, 230])
    },
    /BAD {3}article: the row of entry \d+ \(article old 1, .* is dated 2026-05-01\S+, but follows rows of/,
  ],
  'changes the amount of a receipt': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), { amount_usdc: 50 }),
    /BAD {3}receipt: receipt rcp_1 differs from entry \d+/,
  ],
  'changes a receipt with its content': [
    (ledger) => {
      const changed = { amount_usdc: 50, content: { ...content, amount_usdc: '50.00' } }
      Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), changed)
    },
    /BAD {3}receipt: receipt rcp_1 differs from entry \d+/,
  ],
  'leaves out the content of a receipt': [
    (ledger) => void delete firstOf(rowsOf(ledger, receipts, 'receipts'))['content'],
    /BAD {3}receipt: receipt rcp_1 differs from entry \d+/,
  ],
  'redates a receipt': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), { accepted_at: time(20) }),
    /BAD {3}receipt: the row of entry \d+ .* is dated 2026-11-01T00:20:00.000Z, but follows rows of/,
  ],
  'deletes a receipt': [
    (ledger) => void rowsOf(ledger, receipts, 'receipts').shift(),
    /BAD {3}receipt: entry \d+ \(receipt rcp_1, of \S+\) is not served/,
  ],
  'deletes a receipt, with an entry that it is closed': [
    (ledger) => {
      rowsOf(ledger, receipts, 'receipts').shift()
      ledger.entries.push(['receipt', 'rcp_1 closed', 'closed', 230])
    },
    /BAD {3}receipt: entry \d+ \(receipt rcp_1, of \S+\) is not served/,
  ],
  'changes a new receipt, with another entry': [
    (ledger) => {
      const added = { receipt_id: 'rcp_3', accepted_at: time(230), content: { amount_usdc: 70 } }
      const shown = { ...added, amount_usdc: 70, verification: 'pending' }
      rowsOf(ledger, receipts, 'receipts').push(shown)
      ledger.entries.push(['receipt', 'rcp_3', canonicalize({ amount_usdc: 7 }), 230])
      ledger.entries.push(['receipt', 'rcp_3 2', canonicalize({ amount_usdc: 70 }), 230])
    },
    /BAD {3}receipt: receipt rcp_3 differs from entry \d+/,
  ],
  'shows an earlier verdict': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), {
        onchain: { verdict: 'safe' },
      }),
    /BAD {3}check: check rcp_1 is an old version, which entry \d+ replaced or ended/,
  ],
  'swaps the key of a platform': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, '/api/v1/platforms', 'platforms')), {
        public_key: 'BBBB',
      }),
    /BAD {3}key: key of acme is served without an entry; entry \d+ \(key \w+, of \S+\) is not served/,
  ],
  'swaps the signing key of the service': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, '/.well-known/signing-keys.json', 'keys')), {
        public_key: 'TTTT',
      }),
    /BAD {3}key: key of service is served without an entry; entry \d+ \(key \w+, of \S+\) is not served/,
  ],
  'gives a worker another key': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, '/api/v1/workers?limit=200', 'workers')), {
        receipt_key: 'WWWW',
      }),
    /BAD {3}key: key of 0x(?:cd){20} is served without an entry/,
  ],
  'deletes an article': [
    (ledger) => void rowsOf(ledger, '/api/v1/desk/feed.json', 'articles').pop(),
    /BAD {3}article: entry \d+ \(article week \w+, of \S+\) is not served/,
  ],
  'widens the rails of a platform': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, '/api/v1/platforms', 'platforms')), {
        rails: ['x402', 'pact'],
      }),
    /BAD {3}platform: platform acme differs from entry \d+/,
  ],
  'hides an open flag': [
    (ledger) => void rowsOf(ledger, '/api/v1/honesty/flags', 'flags').pop(),
    /BAD {3}flag: entry \d+ \(flag flg_1 opened, of \S+\) is not served/,
  ],
  'repeats a poll': [
    (ledger) => {
      const polls = rowsOf(ledger, history, 'polls')
      polls.push(firstOf(polls))
    },
    /BAD {3}history: history of x402 at \S+ is served twice/,
  ],
  'drops a rail with its history': [
    (ledger) => void rowsOf(ledger, '/api/v1/rails', 'rails').pop(),
    /BAD {3}history: entry \d+ \(history [0-9a-f]{64}, of \S+\) is not served/,
  ],
  'withholds a text without saying so': [
    (ledger) => {
      const { hidden } = withhold(ledger)
      const row = firstOf(rowsOf(ledger, disputes, 'disputes'))
      Object.assign(row, { updated_at: time(210), steps: [hidden, steps[1]] })
    },
    /BAD {3}dispute: .*dsp_1\/opened differs from entry \d+/,
  ],
  'shows another text with the hash of a withheld one': [
    (ledger) => {
      const { hidden } = withhold(ledger)
      Object.assign(hidden, { text: 'other' })
    },
    /BAD {3}dispute: dispute dsp_1\/opened differs from entry \d+/,
  ],
  'shows a figure with a withheld text': [
    (ledger) => void Object.assign(withhold(ledger).row, { figure: 'other' }),
    /BAD {3}dispute: dispute dsp_1\/opened differs from entry \d+/,
  ],
  'shows a withheld text of another dispute': [
    (ledger) => void Object.assign(withhold(ledger).hidden, { sha256: hash('other') }),
    /BAD {3}dispute: dispute dsp_1\/opened differs from entry \d+/,
  ],
  'states another reason for withholding': [
    (ledger) => void Object.assign(withhold(ledger).step, { text: 'none' }),
    /BAD {3}dispute: dispute dsp_1\/withheld differs from entry \d+/,
  ],
  'shows another state of a withheld dispute': [
    (ledger) => void Object.assign(withhold(ledger).row, { state: 'open' }),
    /BAD {3}dispute: dispute dsp_1\/answered differs from entry \d+/,
  ],
  'adds a dispute without steps': [
    (ledger) => void rowsOf(ledger, disputes, 'disputes').push({ dispute_id: 'dsp_2', steps: [] }),
    /BAD {3}dispute: dispute \S* is served without an entry/,
  ],
  'redates a dispute': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, disputes, 'disputes')), { opened_at: time(1) }),
    /BAD {3}dispute: dispute dsp_1\/opened differs from entry \d+/,
  ],
  'redates a dispute without an answer': [
    (ledger) => {
      const step = { ...steps[0], step_id: 'dsp_2/opened', dispute_id: 'dsp_2' }
      const [at, state] = [time(200), 'open']
      ledger.entries.push(['dispute', 'dsp_2/opened', canonicalize(step), 221])
      rowsOf(ledger, disputes, 'disputes').push({
        ...dispute,
        dispute_id: 'dsp_2',
        state,
        steps: [step],
        opened_at: time(1),
        updated_at: at,
      })
    },
    /BAD {3}dispute: dispute dsp_2\/opened differs from entry \d+/,
  ],
  'shows an answered dispute as open': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, disputes, 'disputes')), { state: 'open' }),
    /BAD {3}dispute: dispute dsp_1\/answered differs from entry \d+/,
  ],
  'shows a receipt on another chain': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), { chain: 'base' }),
    /BAD {3}receipt: receipt rcp_1 differs from entry \d+/,
  ],
  'adds a payer to a receipt': [
    (ledger) =>
      void Object.assign(firstOf(rowsOf(ledger, receipts, 'receipts')), {
        from_wallet: `0x${'ef'.repeat(20)}`,
      }),
    /BAD {3}receipt: receipt rcp_1 differs from entry \d+/,
  ],
  'shows a receipt as verified that nobody verified': [
    (ledger) =>
      void Object.assign(rowsOf(ledger, receipts, 'receipts')[1] ?? {}, {
        verification: 'verified',
      }),
    /BAD {3}receipt: receipt rcp_2 differs from entry \d+/,
  ],
  'shows a payment as verified without a verdict': [
    (ledger) =>
      void Object.assign(rowsOf(ledger, receipts, 'receipts')[1] ?? {}, { onchain_verified: true }),
    /BAD {3}receipt: receipt rcp_2 differs from entry \d+/,
  ],
  'moves the revocation of a key behind a forged receipt': [
    (ledger) =>
      void Object.assign(rowsOf(ledger, '/api/v1/platforms', 'platforms')[1] ?? {}, {
        revoked_index: 22,
      }),
    /BAD {3}key: the row of entry 10 \(key .*\) states another index/,
  ],
  'hides where a key was revoked': [
    (ledger) => void delete rowsOf(ledger, '/api/v1/platforms', 'platforms')[1]?.['revoked_index'],
    /BAD {3}key: the row of entry 10 \(key .*\) states another index/,
  ],
  'serves another set with a version that is not logged': [
    (ledger) => void Object.assign(ledger.lists['/snapshot.json'] ?? {}, { version: 7 }),
    /BAD {3}snapshot: snapshot snapshot differs from entry \d+/,
  ],
  'serves an old set': [
    (ledger) => void Object.assign(ledger.lists['/snapshot.json'] ?? {}, { version: 1 }),
    /BAD {3}snapshot: snapshot snapshot is an old version, which entry \d+ replaced or ended/,
  ],
}

test.each(Object.entries(cheats))(
  'log verify --ledger notices that the operator %s',
  async (_, [cheat, message]) => {
    const ledger = clone(honest())
    cheat(ledger)
    const { out, code } = await verify(ledger)
    expect(out).toMatch(message)
    expect(code).toBe(1)
  },
)

test('log verify --ledger accepts a full history whose oldest polls were logged late', async () => {
  const ledger = honest()
  const polls = Array.from({ length: 1463 }, (_, at): Json => ({
    polled_at: time(211 + at / 100),
    evidence_uri: `/evidence/${sha256Hex(`poll ${at}`)}.json`,
  }))
  for (const [at, row] of polls.entries()) {
    const id = sha256Hex(`poll ${at}`)
    ledger.entries.push(['poll', id, `poll ${at}`, 230, 'late'])
    ledger.entries.push(['history', id, canonicalize({ ...row, rail: 'late' }), 230, 'late'])
  }
  rowsOf(ledger, '/api/v1/rails', 'rails').push({ rail: 'late' })
  ledger.lists['/api/v1/rails/late/history'] = pageOf('polls', polls.toReversed().slice(0, 1461))
  const { out } = await verify(ledger)
  expect(out).toContain('good  poll: 1463 served, each with its entry')
  expect(out).not.toContain('is not served')
})

test('log verify refuses an archive that would not be compared', async () => {
  const { err, code } = await verify(
    honest(),
    article,
    '--archive',
    '.',
    '--log-url',
    'http://copy',
  )
  expect(err).toContain('--archive needs --ledger')
  expect(code).toBe(2)
})

test('log verify --ledger notices a changed article, and accepts one that returns to an earlier text', async () => {
  const changed = await verify(honest(), `${article}more`)
  expect(changed.out).toMatch(/BAD {3}article: article week differs from entry \d+/)
  const ledger = honest()
  ledger.entries.push(['article', 'week 2', 'another text', 230])
  expect((await verify(ledger)).code).toBe(0)
})

test('log verify --ledger accepts an article with the date of a time zone ahead', async () => {
  const ledger = honest()
  const [week] = rowsOf(ledger, '/api/v1/desk/feed.json', 'articles')
  Object.assign(week ?? {}, { date: '2026-11-02' })
  expect((await verify(ledger)).out).toContain('good  article: 1 served')
})

test('log verify --ledger waits once for the entry of a new row', async () => {
  const ledger = honest()
  rowsOf(ledger, '/api/v1/honesty/flags', 'flags').push({ ...flag, id: 'flg_2' })
  const { out, slept } = await verify(ledger)
  expect(out).toContain('BAD   flag: flag flg_2 is served without an entry')
  expect(slept).toBe(60_000)
})

test('log verify refuses an old checkpoint', async () => {
  const { out, code } = await verify(honest(), article, '--max-age', '60')
  expect(out).toContain(`BAD   newest entry: is from ${time(220)}, 1220 minutes ago`)
  expect(code).toBe(1)
})

test('log verify --archive finds the logged commits in a clone, and notices a rewritten history', async () => {
  const dir = tempFolder()
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
    }).trim()
  git('init', '--quiet')
  const commit = (text: string, ...more: string[]) => {
    git('commit', '--quiet', '--allow-empty', '--message', text, ...more)
    return git('rev-parse', 'HEAD')
  }
  commit('before the log')
  const [first, second] = [commit('first'), commit('second')]
  const ledger = honest()
  ledger.entries.push(['archive', first, first, 230], ['archive', second, second, 230])
  const good = await verify(ledger, article, '--archive', dir)
  expect(good.out).toContain('good  archive: 3 served, each with its entry')
  expect(good.code).toBe(0)
  git('reset', '--quiet', '--hard', first)
  commit('rewritten', '--amend')
  const { out, code } = await verify(ledger, article, '--archive', dir)
  expect(out).toMatch(/BAD {3}archive: archive \w+ is served without an entry; entry \d+ \(archive/)
  expect(code).toBe(1)
})

test('log verify --archive reads the ids of 26,000 commits, which are longer than 1 MiB', async () => {
  const dir = tempFolder()
  const git = (args: string[], input = '') =>
    execFileSync('git', ['-C', dir, ...args], { encoding: 'utf8', input }).trim()
  git(['init', '--quiet', '--bare', '--initial-branch', 'main'])
  const commit = 'commit refs/heads/main\ncommitter a <a@b> 0 +0000\ndata 0\n'
  git(['fast-import', '--quiet'], commit.repeat(26_000))
  const head = git(['rev-parse', 'HEAD'])
  const ledger = honest()
  ledger.entries.push(['archive', head, head, 230])
  const { out } = await verify(ledger, article, '--archive', dir)
  expect(out).toContain('good  archive: 26000 served, each with its entry')
})
