/** Commands that are made from the routes, and `alerts listen`, against a service. */
import { createHmac } from 'node:crypto'

import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { appendEvent } from '../../src/db/events.ts'
import { runCommand } from '../support/command-line.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { makePartner } from '../support/partners.ts'
import { documentsOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'
import { chainAccount, chainKey } from '../support/x402-payment.ts'

const service = useService({
  documents: [...documentsOf(smallWorld())],
  publishedAtMs: worldNowMs,
  per: 'file',
})
const partnerName = 'partner of the command line'
const environment = { LEDGER_KEY: chainKey(partnerName) }
type Deps = NonNullable<Parameters<typeof runCommand>[2]>

const cli = (
  args: readonly string[],
  deps: Deps = {},
  given: Readonly<Record<string, string>> = environment,
) =>
  runCommand(args, { LEDGER_URL: service.url, ...given }, { clock: service.clock, fetch, ...deps })
const done = async (...args: string[]) => {
  const { code, out, err } = await cli(args)
  expect([code, err]).toEqual([0, ''])
  return out
}

beforeAll(async () => {
  const { address } = chainAccount(partnerName)
  const sign = () => Promise.reject(new Error('must not sign'))
  const wallet = { address, id: parseWallet(address).id, sign }
  await makePartner(service, wallet, { handle: 'cli-partner' })
})

test('each list of the ledger is printed as a table or in words, and each text as it is', async () => {
  const lists = ['rails', 'leaderboard', 'workers', 'receipts', 'platforms', 'partners', 'tiers']
  const more = ['pacts', 'skills', 'jobs', 'disputes', 'flags', 'desk', 'requests', 'prices']
  for (const words of [...lists, ...more]) {
    const out = await done(words)
    expect(out).toMatch(/^No entries\.\n|^[a-z_0-9]+(?: +[a-z_0-9]+)+\n/)
    expect(out).not.toMatch(/[{[]"/)
  }
  for (const words of ['stats', 'oaths', 'rules', 'export'])
    expect(await done(words)).not.toMatch(/[{[]"/)
  expect(await done('rails', 'csv')).toMatch(/^rail,display_name,/)
})

test('a poll of a rail without an adapter in this program is not recomputed, and the reason is named', async () => {
  const { code, err } = await cli(['recompute', 'alpha'])
  expect([code, err]).toEqual([2, expect.stringContaining('has no adapter for alpha')])
})

test('a command that waits for the request limit of the ledger says so once', async () => {
  let refusals = 2
  const limited: typeof fetch = async (...request) => {
    refusals -= 1
    if (refusals < 0) return await fetch(...request)
    const refusal = { error: 'Too many requests', code: 'rate_limited', docs: service.url }
    return Response.json(refusal, { status: 429, headers: { 'Retry-After': '1' } })
  }
  const clock = { ...service.clock, sleep: () => Promise.resolve() }
  const { code, err } = await cli(['stats'], { fetch: limited, clock })
  expect([code, err]).toEqual([0, 'The ledger limits requests: waiting as long as it asks.\n'])
})

test('an empty list whose length is unknown is not printed as empty', async () => {
  const answer = {
    count: 0,
    unknown_figures: ['count'],
    opportunities: [],
    computed_at: isoTime(0),
  }
  const { out } = await cli(['opportunities'], {
    fetch: () => Promise.resolve(Response.json(answer)),
  })
  expect(out).toBe(
    'Their number is unknown until rails have been read.\nComputed at 1970-01-01T00:00:00.000Z.\n',
  )
})

test('an empty feed of alerts names no time in 1970 at which to continue', async () => {
  expect(await done('alerts', 'feed')).toBe('No entries.\n')
})

test('a partner changes and removes its fields on the command line', async () => {
  const set = ['--website', 'https://cli.example.org', '--require-body-signature', 'true']
  expect(await done('partner', 'update', ...set)).toMatch(/^website +https:\/\/cli\.example\.org$/m)
  const removed = await done('partner', 'update', '--website', '', '--skill', 'proofreading')
  expect(removed).not.toContain('website')
  expect(await done('partner', 'me')).toMatch(/^require_body_signature +true$/m)
  const wrong = await cli(['partner', 'update', '--require-body-signature', 'maybe'])
  expect([wrong.code, wrong.err]).toMatchObject([2, expect.stringContaining('true or false')])
})

test('a dispute about a document is opened with the hash of its bytes, shown and withdrawn', async () => {
  const open = ['dispute', 'open', '--claim', 'The list lacks our rail.']
  const out = await done(...open, '--document', '/api/v1/rails')
  const id = /^dispute_id +(dsp_\w+)$/m.exec(out)?.[1] ?? ''
  const { sha256 } = z
    .object({ documents: z.array(z.object({ path: z.string(), sha256: z.string() })) })
    .parse((await service.getJson('/snapshot.json')).body)
    .documents.find(({ path }) => path === '/api/v1/rails') ?? { sha256: '' }
  expect(out).toMatch(new RegExp(`^target\\.sha256 +${sha256}$`, 'm'))
  expect(await done('dispute', 'show', id)).toMatch(/^state +open$/m)
  expect(await done('dispute', 'withdraw', id)).toMatch(/^state +withdrawn$/m)
  expect((await cli([...open, '--flag', 'flg_1', '--receipt', 'rcp_1'])).code).toBe(2)
  expect((await cli(open)).err).toContain('give one of --document, --flag and --receipt')
})

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const deliveryBody = z.object({
  type: z.string(),
  data: z.object({ title: z.string().optional(), challenge: z.string().optional() }),
})

/** A webhook that answers challenges and fails for closed flags. Returns each delivery with its signature checked. */
async function startWebhook() {
  const received: string[] = []
  const url = await serveDuringTest((req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (part: string) => (body += part))
    req.on('end', () => {
      const signed = `${String(req.headers['webhook-id'])}.${String(req.headers['webhook-timestamp'])}.${body}`
      const expected = createHmac('sha256', Buffer.alloc(32, 7)).update(signed).digest('base64')
      const isSigned = req.headers['webhook-signature'] === `v1,${expected}`
      const { type, data } = deliveryBody.parse(JSON.parse(body))
      received.push(`${type} ${data.title} ${isSigned ? 'signed' : 'forged'}`)
      res.writeHead(type === 'flag_closed' ? 500 : 200).end(data.challenge ?? '')
    })
  })
  return { url, received }
}

/** Runs the command on a ledger that answers twice, with `kinds` of events between, and is then down. */
async function listen(
  forward: string,
  kinds: readonly ('flag_opened' | 'flag_closed')[],
  ...more: string[]
) {
  let reads = 0
  const ending: Deps['fetch'] = async (url, init) => {
    if (String(url).includes('/alerts/feed')) reads += 1
    if (reads > 2) throw new TypeError('the ledger is down')
    return await fetch(url, init)
  }
  const sleep = async () => {
    if (reads > 1) return
    for (const kind of kinds) {
      const event = { id: `evt_${kind}`, kind, rail: 'x402', title: `${kind}!`, data: {} }
      const createdAt = isoTime(service.clock.now() + 1)
      const row = { ...event, severity: 'warning', createdAt } as const
      await service.actions.database.write((tx) => appendEvent(tx, row))
    }
  }
  const deps = { clock: { ...service.clock, sleep }, fetch: ending }
  const args = ['alerts', 'listen', '--forward', forward, ...more]
  return await cli(args, deps, { ...environment, LEDGER_WEBHOOK_SECRET: secret })
}

test('alerts listen posts each new event to a local webhook, signed like a delivery', async () => {
  const { url, received } = await startWebhook()
  const { code, out } = await listen(url, ['flag_opened', 'flag_closed'])
  expect(code).toBe(3)
  expect(out).toContain(`Secret: ${secret}\n`)
  expect(out).toMatch(/ {2}200 {2}endpoint\.challenge {2}msg_\w+ {2}accepted\n/)
  expect(out).toMatch(/ {2}200 {2}flag_opened +msg_\w+ {2}accepted\n/)
  expect(out).toMatch(/ {2}500 {2}flag_closed +msg_\w+ {2}not accepted\n/)
  expect(received).toEqual([
    'endpoint.challenge undefined signed',
    'flag_opened flag_opened! signed',
    'flag_closed flag_closed! signed',
  ])
})

test('alerts listen reports a webhook that is down, and continues', async () => {
  const { out } = await listen('http://127.0.0.1:9/hook', [], '--since', isoTime(0))
  expect(out).toMatch(
    / {2}- +endpoint\.challenge +msg_\w+ {2}no answer from http:\/\/127\.0\.0\.1:9: /,
  )
  expect(out).toMatch(/ {2}- +flag_opened +msg_\w+ {2}no answer/)
})

test('alerts listen sends nothing for a wallet that is no partner, or with a malformed secret', async () => {
  const { url, received } = await startWebhook()
  const args = ['alerts', 'listen', '--forward', url]
  const stranger = await cli(args, {}, { LEDGER_KEY: chainKey('a stranger') })
  expect([stranger.code, stranger.out]).toEqual([1, ''])
  expect(stranger.err).toContain('not_a_partner')
  const malformed = await cli(args, {}, { ...environment, LEDGER_WEBHOOK_SECRET: 'whsec_short' })
  expect([malformed.code, malformed.out]).toEqual([2, ''])
  expect(received).toEqual([])
})
