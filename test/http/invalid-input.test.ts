/** Bodies and queries with one invalid field. They are refused before any signature is verified, so none is signed. */
import { describe, expect, test } from 'vitest'

import { routeOf } from '../../src/contract/routes.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { expectRefusal, requestJson } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

const service = useService({ per: 'file' })

const wallet = evmWallet('alice').address
const timestamp = '2026-11-21T06:00:00.000Z'
const signature = 'unsigned'
const key = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='

const validBodies = {
  registerWorker: { wallet, timestamp, signature, skills: ['technical-writing'] },
  claimSpot: { email: 'worker@ledger.example', display_name: 'Zoë' },
  submitReceipt: {
    rail: 'x402',
    to_wallet: wallet,
    amount_usdc: 10,
    asset_symbol: 'USDC',
    occurred_at: '2026-11-20T12:00:00.000Z',
    public_key: `ed25519:${key}`,
    worker_signature: `ed25519:${'A'.repeat(86)}==`,
    wallet,
    timestamp,
    signature,
  },
  signupPartner: {
    handle: 'acme-agents',
    display_name: 'Acme Agents',
    tier: 'free',
    timestamp,
    oath_signature: signature,
  },
  postJob: {
    title: 'Translate a manual',
    description: 'Twenty pages.\nEnglish to German.',
    skills: ['technical-writing'],
    budget_usdc: '40.5',
    deadline: '2026-11-22T06:00:00.000Z',
  },
  bidOnJob: { price_usdc: 1, eta_hours: 1, proposal: 'Me.' },
  deliverJob: {
    uri: 'https://files.example.com/manual.pdf',
    content_sha256: 'ab'.repeat(32),
    wallet,
    timestamp,
    signature,
  },
  subscribeAlerts: { url: 'https://hooks.example.com/' },
  openDispute: {
    target: { flag_id: 'flg_00' },
    claim: 'Not so.',
    wallet,
    timestamp,
    signature,
  },
  withdrawDispute: { dispute_id: `dsp_${'ab'.repeat(12)}`, wallet, timestamp, signature },
  submitFeedback: { message: 'Well done!' },
  proposeSkill: {
    name: 'Crème Brûlée Tasting',
    category: 'research-analysis',
    surface: ['x402'],
    description: 'Tastes and reports.',
  },
} as const satisfies Partial<Record<RouteId, object>>
type WriteId = keyof typeof validBodies

/** Values that a field of a valid body must not have. */
const invalidValues: readonly (readonly [WriteId, string, readonly unknown[]])[] = [
  ['registerWorker', 'wallet', [wallet.replace(/[a-f]/, (digit) => digit.toUpperCase())]],
  ['registerWorker', 'wallet', [wallet.replace('0x', '0X'), ` ${wallet}`, `${wallet}0`]],
  ['registerWorker', 'wallet', ['1'.repeat(32)]],
  ['registerWorker', 'skills', [[], Array.from({ length: 33 }, (_, at) => `skill-${at}`)]],
  ['registerWorker', 'skills', [['Upper'], ['same', 'same']]],
  ['registerWorker', 'display_name', ['', ' padded', 'x'.repeat(81), 'a\nb', 'a\u0000b']],
  ['registerWorker', 'display_name', ['Zoe\u0308', 'Pаypal', 'Αgent', 'Ωmega']],
  ['registerWorker', 'display_name', ['Led\u200Bger', 'Ledger\u202Etob', 'Ledger\u2066bot']],
  ['registerWorker', 'display_name', ['Led\u00ADger', 'Led\u034Fger', 'Ledger\u2800']],
  ['registerWorker', 'display_name', ['Ledger\u3164', 'Ledger\u{E0041}']],
  ['registerWorker', 'display_name', [`L${'\u0316'.repeat(9)}edger`]],
  ['registerWorker', 'url', ['http://a.example/', 'javascript:alert(1)']],
  ['registerWorker', 'url', ['https://user:pw@a.example/', 'https://a.example/\n']],
  ['registerWorker', 'bio', ['x'.repeat(1001)]],
  ['registerWorker', 'receipt_key', ['short']],
  ['registerWorker', 'admin', [true]],
  ['claimSpot', 'email', ['a@b', 'a b@ledger.example']],
  ['claimSpot', 'email', ['a@ledger.example\r\nBcc: c@ledger.example']],
  ['claimSpot', 'email', ['a@ledger.example, b@ledger.example', 'Name <a@ledger.example>']],
  ['claimSpot', 'email', ['a@[127.0.0.1]', '"a"@ledger.example', 'ä@ledger.example']],
  ['claimSpot', 'email', [`${'a'.repeat(250)}@ledger.example`]],
  ['submitReceipt', 'occurred_at', ['yesterday']],
  ['submitReceipt', 'amount_usdc', [0.0000001, 1_000_000_000.000001, -1, '1e3', '01', true]],
  ['submitReceipt', 'asset_symbol', ['EURC']],
  ['submitReceipt', 'chain', ['dogecoin']],
  ['submitReceipt', 'job_id', ['pact 12']],
  ['submitReceipt', 'summary', ['line\nline']],
  ['submitReceipt', 'evidence_url', ['file:///etc/passwd']],
  ['submitReceipt', 'to_wallet', ['0x0']],
  ['submitReceipt', 'unknown', [1]],
  ['signupPartner', 'handle', ['signup', '{TIMESTAMP}']],
  ['signupPartner', 'tier', ['gold']],
  ['signupPartner', 'wallet', [wallet]],
  ['signupPartner', 'website', ['http://acme.test/', String.raw`https://acme.test/\..\x`]],
  ['signupPartner', 'display_name', ['Ac\u200Bme']],
  ['postJob', 'deadline', ['2026-12-24']],
  ['postJob', 'budget_usdc', ['1.0000001', 1_000_000_001]],
  ['postJob', 'skills', [['A skill']]],
  ['postJob', 'title', ['One\nTwo']],
  ['postJob', 'status', ['accepted']],
  ['bidOnJob', 'price_usdc', [1_000_000_000.5]],
  ['bidOnJob', 'eta_hours', [0, 0.5]],
  ['bidOnJob', 'proposal', ['']],
  ['deliverJob', 'uri', ['http://files.example.com/a', 'https://2130706433/']],
  ['subscribeAlerts', 'url', ['http://hooks.example.com/']],
  ['openDispute', 'claim', ['', 'x'.repeat(2001), 'bell \u0007', 'turned \u202E text']],
  ['openDispute', 'target', [{}, { flag_id: 'x' }, { path: 'a', sha256: 'ab'.repeat(32) }]],
  ['openDispute', 'evidence_url', ['javascript:alert(1)', 'http://a.example/']],
  ['withdrawDispute', 'dispute_id', ['dsp_1']],
  ['submitFeedback', 'message', [undefined, 'x'.repeat(4001), 'bell \u0007']],
  ['submitFeedback', 'message', ['turned \u202E text']],
  ['submitFeedback', 'rating', [6, 1.5]],
  ['submitFeedback', 'more', [true]],
  ['proposeSkill', 'category', ['alchemy']],
  ['proposeSkill', 'surface', [[]]],
]

const invalidQueries: readonly (readonly [RouteId, string, string])[] = [
  ['listWorkers', 'limit=0', 'invalid_input'],
  ['listWorkers', 'limit=201', 'invalid_input'],
  ['listWorkers', 'limit=1e1', 'invalid_input'],
  ['listWorkers', 'limit=5&limit=6', 'invalid_input'],
  ['listWorkers', 'cursor=abc', 'bad_cursor'],
  ['listWorkers', 'cursor=cmVjZWlwdHMuNQ', 'bad_cursor'],
  ['listWorkers', 'wallet=0x1&limit=5', 'invalid_input'],
  ['listWorkers', 'since=yesterday', 'invalid_input'],
  ['listWorkers', 'limit=5&page=2', 'unknown_parameter'],
  ['listReceipts', 'status=good', 'invalid_input'],
  ['listReceipts', 'chain=doge', 'invalid_input'],
  ['listReceipts', 'rail=UPPER', 'invalid_input'],
  ['listReceipts', 'cursor=d29ya2Vycy41', 'bad_cursor'],
  ['listJobs', 'status=gone', 'invalid_input'],
  ['listJobs', 'limit=2&skills=one', 'unknown_parameter'],
  ['getAlertFeed', 'since=', 'invalid_input'],
  ['getAlertFeed', 'severity=loud', 'invalid_input'],
  ['getAlertFeed', 'cursor=1', 'unknown_parameter'],
]

function pathOf(id: RouteId): string {
  const { path, params = {} } = routeOf(id)
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name]?.example ?? '')
}

describe('a write', () => {
  test.each(entriesOf(validBodies))('%s with a valid body is not 400', async (id, body) => {
    expect((await requestJson(service, pathOf(id), { body })).status).not.toBe(400)
  })

  test.each(
    invalidValues.flatMap(([id, field, values]) => values.map((value) => ({ id, field, value }))),
  )('$id with $field = $value returns 400 naming the field', async ({ id, field, value }) => {
    const body = { ...validBodies[id], [field]: value }
    const answer = await requestJson(service, pathOf(id), { body })
    expectRefusal(answer, 400, 'invalid_input')
    expect(JSON.stringify(answer.body['issues'])).toContain(`"path":"${field}`)
  })
})

test.each(invalidQueries)('%s with the query %s returns 400 as %s', async (id, query, code) => {
  // Without a payment, every request of a sold read is answered with its terms.
  const headers = { 'X-PAYMENT': 'e30=' }
  const answer = await requestJson(service, `${pathOf(id)}?${query}`, { headers })
  expect(answer).toMatchObject({ status: 400, body: { code } })
})
