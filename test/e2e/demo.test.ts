import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { keyOf, seedOf } from '../../scripts/demo/calls.ts'
import { evmSigner } from '../../src/client/signers.ts'
import { answerExample } from '../../src/contract/openapi/examples.ts'
import { routes } from '../../src/contract/routes.ts'
import { disputeStates } from '../../src/contract/schemas/dispute-state.ts'
import { dispute } from '../../src/contract/schemas/dispute.ts'
import { job } from '../../src/contract/schemas/job.ts'
import { pactList } from '../../src/contract/schemas/pact.ts'
import { rail } from '../../src/contract/schemas/rail.ts'
import { receipt } from '../../src/contract/schemas/receipt.ts'
import { manifestSchema } from '../../src/core/documents.ts'
import { flagTexts } from '../../src/core/flags/index.ts'
import { jobStatuses } from '../../src/core/job.ts'
import { checkVerdicts } from '../../src/core/onchain.ts'
import { dayMs, minuteMs } from '../../src/core/time.ts'
import { listClosedFlags, listOpenFlags } from '../../src/db/flags.ts'
import { openDatabase } from '../../src/db/open.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { callEveryOperation, jsonRoutes } from '../support/every-operation.ts'
import { runSample, samplesIn } from '../support/guides.ts'
import { installProgram, run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'
import { recordExamples, shown } from '../support/recorded-examples.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { addressOf } from './ledger.ts'

allowSlowTests('fills a demo ledger')

let program: Program
let folder: string
let demo: Running
let url: string

/** Prices are shown, but no payment can be settled. */
const selling = {
  SETTLEMENT: 'facilitator',
  PAYMENT_RECEIVER: '0x52908400098527886E0F7030069857D2E4169EE7',
  FACILITATOR_URL: 'https://facilitator.example',
  RPC_URL_BASE: 'https://node.example',
}
const weekMs = 7 * dayMs
const railsShape = z.object({ rails: z.array(rail) })
const receiptsShape = z.object({ receipts: z.array(receipt) })
const jobsShape = z.object({ jobs: z.array(job) })
const disputesShape = z.object({ disputes: z.array(dispute) })
const anyObject = z.looseObject({})

async function read<Answer>(path: string, shape: z.ZodType<Answer>): Promise<Answer> {
  return shape.parse(await (await fetch(`${url}${path}`)).json())
}

const fieldsOf = (answer: unknown) =>
  Object.keys(anyObject.parse(answer))
    .filter((name) => name !== 'demo')
    .toSorted()

/** Takes the whole body, since the service waits for its requests when it stops. */
async function request(path: string): Promise<Response> {
  const answer = await fetch(`${url}${path}`)
  await answer.arrayBuffer()
  return answer
}

const dataDir = () => join(folder, 'data')
const published = (file: string) => readFileSync(join(dataDir(), 'public/current', file), 'utf8')

beforeAll(async () => {
  program = installProgram()
  const changelog = new URL('../../CHANGELOG.md', import.meta.url)
  cpSync(changelog, join(program.dir, 'CHANGELOG.md'))
  folder = mkdtempSync(join(tmpdir(), 'ledger-demo-test-'))
  demo = run(program.scriptOf('scripts/demo.ts'), [], {
    ...selling,
    DATA_DIR: dataDir(),
    PORT: '0',
  })
  await demo.says('"message":"serving"')
  url = await addressOf(demo)
})
afterAll(async () => {
  demo.kill('SIGTERM')
  expect(await demo.ended).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})

describe('npm run demo', () => {
  test('npm run demo shows every state of rails, and a transition of the last week', async () => {
    const { rails } = await read('/api/v1/rails', railsShape)
    const polled = rails.filter(({ figures_source: source }) => source === 'poll')
    const count = (status: string) => polled.filter((rail) => rail.status === status).length
    expect(polled.length).toBeGreaterThan(25)
    expect(count('paying')).toBeGreaterThan(10)
    expect(count('concentrated')).toBe(2)
    expect(count('potemkin')).toBe(2)
    expect(count('pre-traction')).toBe(5)
    expect(count('dormant')).toBeGreaterThan(2)
    const audited = rails.filter(({ figures_source: source }) => source === 'audit')
    expect(new Set(audited.map(({ judged }) => judged))).toEqual(new Set([true, false]))
    expect(audited.some(({ audit }) => audit.claims.length > 0)).toBe(true)
    expect(polled.some(({ stale }) => stale)).toBe(true)
    expect(polled.some((rail) => rail.poll_error !== undefined && !rail.stale)).toBe(true)
    expect(rails.map(({ backfill }) => backfill?.percent)).toContainEqual(expect.any(Number))
    const known = rails.find(({ rail }) => rail === 'tallowgate')
    expect(known?.tpv_30d_usdc).toBeLessThan(known?.tpv_30d_raw_usdc ?? 0)
    expect(known?.tpv_30d_net_usdc).toBeLessThan(known?.tpv_30d_usdc ?? 0)
    expect(Object.keys(known?.removed_30d ?? {})).toEqual(['self_payment', 'test_payment'])
    const changed = rails.filter(
      ({ status_since: since }) => Date.now() - Date.parse(since) < weekMs,
    )
    expect(changed.map(({ rail }) => rail)).toContain('juniperlatch')
    const history = await fetch(`${url}/api/v1/rails/tallowgate/history`)
    expect((await history.text()).match(/"polled_at":/g)?.length).toBe(20)
  })

  test('npm run demo opens and closes flags of every kind', async () => {
    const database = await openDatabase({ url: join(dataDir(), 'ledger.db'), readOnly: true })
    const open = await listOpenFlags(database.reader)
    const closed = await listClosedFlags(database.reader, 1000)
    await database.close()
    const kinds = flagTexts.map(([kind]) => kind).toSorted()
    expect([...new Set(open.map(({ kind }) => kind))].toSorted()).toEqual(kinds)
    expect([...new Set(closed.map(({ kind }) => kind))].toSorted()).toEqual(kinds)
  })

  test('npm run demo shows receipts, jobs, disputes and pacts in every state', async () => {
    const { receipts } = await read('/api/v1/receipts?limit=200', receiptsShape)
    const states = new Set(receipts.map((one) => one.verification))
    expect(states).toEqual(new Set(['verified', 'pending', 'unverified', 'rejected']))
    const verdicts = new Set(receipts.flatMap(({ onchain }) => onchain?.verdict ?? []))
    expect(verdicts).toEqual(new Set(checkVerdicts))
    const { jobs } = await read('/api/v1/jobs', jobsShape)
    expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(jobStatuses))
    const { disputes } = await read('/api/v1/disputes', disputesShape)
    expect(new Set(disputes.map(({ state }) => state))).toEqual(new Set(disputeStates))
    const answered = disputes.find(({ state }) => state === 'answered')
    expect(answered?.steps.map(({ event, text }) => [event, typeof text])).toEqual([
      ['opened', 'string'],
      ['answered', 'string'],
    ])
    const stats = await read('/api/v1/stats/live', anyObject)
    expect(stats).toMatchObject({ pacts_settled: 1, pacts_in_flight: 4, partners_total: 5 })
    const pacts = await read('/api/v1/pacts', pactList)
    expect(new Set(pacts.recorded.map((one) => one.verification)).size).toBe(3)
    const phases = new Set(pacts.in_flight.map((one) => one.phase_status))
    expect(phases).toEqual(new Set(['drafted', 'submitted', 'blocked']))
    for (const { pact_id: id } of [...pacts.settled, ...pacts.in_flight, ...pacts.recorded]) {
      expect((await request(`/pacts/${id}`)).status).toBe(200)
    }
  })

  test('npm run demo links only to its own port and to no explorer, and its evidence opens', async () => {
    const { documents } = manifestSchema.parse(JSON.parse(published('snapshot.json')))
    const texts = documents
      .filter(({ content_type: type }) => /^(?:text|application)\//.test(type))
      .map(({ file }) => published(file))
    const ports = texts.flatMap(
      (text) => text.match(/https?:\/\/(?:localhost|127\.0\.0\.1):\d+/g) ?? [],
    )
    expect(texts.join().match(/href="[^"]+\/(?:tx|txns|transaction)\/[^"]*"/g)).toBeNull()
    // The guide to webhooks names a program of the reader.
    const known = [`http://localhost:${new URL(url).port}`, 'http://localhost:3000']
    const others = [...new Set(ports)].filter((port) => !known.includes(port))
    expect(others).toEqual(['http://127.0.0.1:8787'])
    const { rails } = await read('/api/v1/rails', railsShape)
    const evidence = rails.flatMap(({ evidence_uri: path }) => path ?? [])
    expect(evidence.length).toBeGreaterThan(25)
    for (const path of evidence) {
      const answer = await fetch(`${url}${path}`)
      expect(answer.status).toBe(200)
      const { buckets } = z.object({ buckets: z.string().nullable() }).parse(await answer.json())
      if (buckets === null) continue
      expect((await request(`/evidence/${buckets}.json`)).status).toBe(200)
    }
    expect(await (await fetch(`${url}/changelog`)).text()).not.toContain('does not include')
  })

  test('npm run demo marks every page, JSON document, feed and answer as a demo', async () => {
    const { documents } = manifestSchema.parse(JSON.parse(published('snapshot.json')))
    const formats = /^(?:text\/(?:html|markdown|plain)|application\/(?:json|.*xml))/
    const hashedElsewhere = /^\/(?:pacts\/.*\.json$|\.well-known\/agent-skills\/)/
    const unmarked = documents
      .filter(({ content_type: type, path }) => formats.test(type) && !hashedElsewhere.test(path))
      .filter(({ file }) => !/"(?:x-)?demo":true|Demo ledger: /.test(published(file)))
    expect(unmarked.map(({ path }) => path)).toEqual([])
    const onDemand = await fetch(`${url}/view/receipts?limit=2`)
    expect(await onDemand.text()).toContain('Demo ledger: ')
    for (const path of ['/', '/api/v1/health', '/api/v1/rails.csv', '/nowhere']) {
      expect((await request(path)).headers.get('x-demo')).toBe('true')
    }
  })

  test('npm run demo refuses an existing folder that it did not make', async () => {
    const other = join(folder, 'other')
    mkdirSync(other)
    const refused = run(program.scriptOf('scripts/demo.ts'), [], { DATA_DIR: other, PORT: '0' })
    expect(await refused.ended).toBe(78)
    expect(refused.output()).toContain(`${other} exists and is not a demo folder`)
    expect(existsSync(join(other, 'ledger.db'))).toBe(false)
  })

  test('the samples of every public read in the reference run as they are served', async () => {
    const first = async (list: string, key: string) => {
      const rows = Object.values(await read(list, anyObject)).find(Array.isArray)
      return z.string().parse(z.array(anyObject).parse(rows)[0]?.[key])
    }
    const earner = await first('/api/v1/leaderboard', 'wallet')
    /** The examples of parameters whose values differ between ledgers. */
    const names = new Map([
      ['rcp_(?:ab)+', await first('/api/v1/receipts', 'receipt_id')],
      ['0x52908400098527886E0F7030069857D2E4169EE7', earner],
      ['2026-10(?!-)', await first(`/api/v1/workers/${earner}/statements`, 'month')],
      ['job_9f2c41d07a6be8053c1d2e4f', await first('/api/v1/jobs', 'id')],
      ['acme-agents', await first('/api/v1/partners', 'handle')],
      ['dsp_(?:ab)+', await first('/api/v1/disputes', 'dispute_id')],
      ['/evidence/SHA256.json', await first('/api/v1/rails', 'evidence_uri')],
    ])
    const exported = async () => (await request('/export.json')).status
    await expect.poll(exported, { timeout: 2 * minuteMs }).toBe(200)
    const paths = new Set(routes.map(({ tag }) => `/docs/reference/${tag.toLowerCase()}.md`))
    const pages = await Promise.all([...paths].map(async (path) => await fetch(`${url}${path}`)))
    const texts = await Promise.all(pages.map(async (page) => await page.text()))
    const samples = texts
      .flatMap((text) => text.split(/^## /m).slice(1))
      .filter((endpoint) => /^GET .*\n[^]*?Access: no credentials/.test(endpoint))
      .flatMap(samplesIn)
    const reads = routes.filter(({ access, method }) => access === 'public' && method === 'GET')
    const place = mkdtempSync(join(folder, 'samples-'))
    /** All samples in one program, which fails with the first of them. */
    const programs = [
      ['sh', (code: string) => code, 'curl() { command curl --fail "$@"; }'],
      [
        'ts',
        (code: string) =>
          `await import(${JSON.stringify(`data:text/javascript,${encodeURIComponent(code)}`)})`,
        'console.log = (status) => { if (status !== 200) throw new Error(status) }',
      ],
      ['py', (code: string) => `exec(${JSON.stringify(code)}, {})`, ''],
    ] as const
    for (const [language, step, start] of programs) {
      const own = samples.filter((sample) => sample.language === language)
      expect([language, own.length]).toEqual([language, reads.length])
      const steps = own.map(({ code }) =>
        step(
          [...names].reduce((text, [from, to]) => text.replaceAll(new RegExp(from, 'g'), to), code),
        ),
      )
      const code = [start, ...steps].join('\n')
      const { code: exit, err } = await runSample({ language, code }, place)
      expect([language, exit, err]).toEqual([language, 0, ''])
    }
  })

  test('npm run demo serves the addresses that the skill files request', async () => {
    for (const name of ['desk', 'pacts']) {
      const skill = await (await fetch(`${url}/${name}/SKILL.md`)).text()
      const pact = /ID=(\d+)/.exec(skill)?.[1] ?? ''
      const commands = skill.replaceAll('$SITE', url).replaceAll('$ID', pact)
      const requested = commands.matchAll(/^curl .*?https?:\/\/[^/\s]+(\/[\w./-]+)/gm)
      const paths = [...requested].map(([, path = '']) => path)
      expect(paths.length).toBeGreaterThan(5)
      const statuses = paths.map(async (path) => [path, (await request(path)).status])
      expect(await Promise.all(statuses)).toEqual(paths.map((path) => [path, 200]))
    }
  })

  test('npm run demo answers every operation with the fields of its example in OpenAPI', async () => {
    const settings = { DATA_DIR: dataDir(), DEMO: 'on' }
    const exported = async () => (await request('/export.json')).status
    await expect.poll(exported, { timeout: 2 * minuteMs }).toBe(200)
    const calls = await callEveryOperation(
      {
        siteUrl: url,
        serviceName: 'agent-income-ledger-demo',
        clock: systemClock,
        random: systemRandom,
      },
      {
        poster: await evmSigner(seedOf('Northwind Labs')),
        bidder: await evmSigner(seedOf('Marginalia')),
        newcomer: await evmSigner(seedOf('Fennel')),
        heir: await evmSigner(seedOf('Heir of Fennel')),
        receiptKey: keyOf('Fennel'),
        raiseTier: async () => {
          const args = 'admin partners set-tier northwind pro --reason test'.split(' ')
          const granted = run(program.scriptOf('scripts/cli/main.ts'), args, settings)
          expect([await granted.ended, granted.output()]).toEqual([0, expect.anything()])
        },
      },
    )
    const good = calls.filter(({ status }) => status < 300 || status === 402)
    expect(calls.filter((call) => !good.includes(call))).toEqual([])
    expect(new Set(good.map(({ id }) => id))).toEqual(new Set(jsonRoutes.map(({ id }) => id)))
    if (process.env['RECORD'] === 'on') recordExamples(good, url)
    for (const { id, status, answer } of good) {
      const example = answerExample(id, status)
      expect([id, status, fieldsOf(example)]).toEqual([id, status, fieldsOf(shown(id, answer))])
    }
  })
})

describe('the service', () => {
  test.each([
    ['a demo folder without DEMO=on', () => ({ DATA_DIR: dataDir() }), 'contains demo data'],
    [
      'DEMO=on in another folder',
      () => ({ DATA_DIR: join(folder, 'real'), DEMO: 'on' }),
      'is not a demo folder',
    ],
  ])('service and builder refuse to start with %s', async (_case, settings, reason) => {
    for (const script of [program.service, program.builder]) {
      const refused = run(script, [], { ...settings(), PORT: '0' })
      expect(await refused.ended).toBe(78)
      expect(refused.output()).toContain(reason)
    }
  })
})
