import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, test } from 'vitest'

import { createReporter } from '../../builder/jobs/report.ts'
import { routes } from '../../src/contract/routes.ts'
import { stateFromAudit } from '../../src/core/rail-poll.ts'
import { BusyError } from '../../src/db/errors.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { putRecord } from '../../src/db/records.ts'
import { finishRun, startRun } from '../../src/db/runs.ts'
import { metricSpecs } from '../../src/metrics/catalogue.ts'
import { createWriteObserver } from '../../src/metrics/database.ts'
import { instrumentOutbound, instrumentSettler } from '../../src/metrics/instrument.ts'
import { createMeter, observe } from '../../src/metrics/meter.ts'
import type { Meter } from '../../src/metrics/meter.ts'
import { createProcessReadings } from '../../src/metrics/process.ts'
import { serveMetrics } from '../../src/metrics/serve.ts'
import type { MetricsServer } from '../../src/metrics/serve.ts'
import { createServiceMetrics } from '../../src/metrics/service.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import { SettlementUnavailableError } from '../../src/payments/authorization.ts'
import { createFacilitator } from '../../src/payments/facilitator.ts'
import { tempFolder } from '../db/temp-database.ts'
import { handClock, publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import type { HandClock, PublicDir, Service } from '../support/http-service.ts'
import { newDatabaseIn } from '../support/new-database.ts'
import { quietLog } from '../support/quiet-log.ts'
import { exchange, send } from '../support/raw-http.ts'
import { readExposition, total } from './exposition.ts'
import type { ReadMetrics } from './exposition.ts'

let published: PublicDir
let folder: string
let meter: Meter
let clock: HandClock
let database: OpenDatabase
let service: Service
let metrics: MetricsServer

const authorization = {
  from: `0x${'1'.repeat(40)}`,
  to: `0x${'2'.repeat(40)}`,
  value: 1n,
  validAfter: 0n,
  validBefore: 1n,
  nonce: `0x${'3'.repeat(64)}`,
  signature: `0x${'4'.repeat(130)}`,
}
const terms = {
  resource: 'https://ledger.test/api/v1/arbitrage',
  description: '',
  mimeType: 'application/json',
  amountMicroUsdc: 1,
  payTo: `0x${'2'.repeat(40)}`,
}
const readProcess = createProcessReadings(process, Date.UTC(2026, 10, 21))

beforeEach(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  folder = tempFolder()
  meter = createMeter()
  clock = handClock()
  const observer = createWriteObserver(meter)
  database = await openDatabase({ url: await newDatabaseIn(folder), observer })
  service = await startService(published.dir, { meter, clock, limits: 'on', actions: { database } })
  metrics = await serveMetrics({
    host: '127.0.0.1',
    port: 0,
    log: quietLog,
    render: createServiceMetrics({
      meter,
      clock,
      database,
      store: service.store,
      dataDir: folder,
      publicDir: published.dir,
      nodeVersion: process.version,
      process: readProcess,
      settlementProblems: () => ['the wallet has no gas'],
    }),
  })
})

afterEach(async () => {
  await metrics.close()
  await service.stop()
  await database.close()
  await published.remove()
})

async function scrape(): Promise<ReadMetrics> {
  const answer = await fetch(`http://127.0.0.1:${metrics.address.port}/metrics`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return readExposition(await answer.text())
}

async function get(path: string, times = 1): Promise<void> {
  for (let at = 0; at < times; at += 1) await (await fetch(service.url + path)).arrayBuffer()
}

/** Causes every metric that appears only after its first event. */
async function everythingHappens(): Promise<void> {
  await get('/api/v1/rails')
  await database.write(async (tx) => {
    await putRecord(
      tx,
      'rail_state',
      {
        rail: 'x402',
        lastPollId: null,
        state: {
          ...stateFromAudit({ rail: 'x402', status: 'paying', asOfMs: 0, figures: {} }),
          lastGoodPollAtMs: Date.parse('2026-11-21T05:00:00.000Z'),
          consecutiveFailures: 3,
        },
      },
      'rail',
    )
    const finishedAt = '2026-11-21T04:00:00.000Z'
    const run = await startRun(tx, 'poll', '2026-11-21T03:59:00.000Z')
    await finishRun(tx, run, { finishedAt, outcome: 'ok', detail: null })
  })
  const stop = new AbortController()
  const reporter = createReporter({
    dataDir: folder,
    clock,
    log: quietLog,
    process: readProcess,
  })
  const finishedMs = Date.UTC(2026, 10, 21, 5, 30)
  reporter.onRun({ job: 'build', outcome: 'ok', finishedMs, tookMs: 1500 })
  reporter.onRun({ job: 'build', outcome: 'failed', finishedMs: finishedMs + 1000, tookMs: 500 })
  const reporting = reporter.reportEvery(stop.signal)
  await expect.poll(async () => await readFile(join(folder, 'builder-report.json'))).toBeDefined()
  stop.abort()
  await reporting
  const unreachable = () => Promise.reject(new Error('the facilitator is unreachable'))
  const facilitator = createFacilitator({
    url: 'https://f.example',
    clock,
    fetch: unreachable,
    tokenFor: null,
  })
  const settler = instrumentSettler(meter, facilitator)
  await expect(settler.check(authorization, { terms })).rejects.toThrow(SettlementUnavailableError)
  await get('/api/v1/rails/x402', 125)
}

describe('the metrics server', () => {
  test('the metrics server renders every documented metric by the grammar', async () => {
    await everythingHappens()
    const { kinds, samples } = await scrape()
    const documented = Object.entries(metricSpecs).map(([name, { kind }]) => [name, kind])
    const proc = process.platform === 'linux' ? [] : ['process_open_fds', 'process_max_fds']
    const missing = documented.filter(([name = '']) => !kinds.has(name) && !proc.includes(name))
    // Counted at the first outbound request of the service; see below.
    expect(missing.map(([name]) => name)).toEqual(['ledger_outbound_total'])
    expect([...kinds].every(([name, kind]) => metricSpecs[name]?.kind === kind)).toBe(true)
    for (const { name, labels } of samples) {
      const family = metricSpecs[name] ?? metricSpecs[name.replace(/_(?:bucket|sum|count)$/, '')]
      const allowed = [...(family?.labels ?? []), ...(family?.buckets === undefined ? [] : ['le'])]
      expect(Object.keys(labels).filter((label) => !allowed.includes(label))).toEqual([])
    }
  })

  test('the metrics server renders values of rows, builder and disk', async () => {
    await everythingHappens()
    const found = await scrape()
    const last = 'ledger_job_last_success_timestamp_seconds'
    expect(total(found, last, { task: 'poll' })).toBe(Date.UTC(2026, 10, 21, 4) / 1000)
    expect(total(found, last, { task: 'build' })).toBe(Date.UTC(2026, 10, 21, 5, 30) / 1000)
    expect(total(found, 'ledger_job_runs_total', { task: 'build', outcome: 'failed' })).toBe(1)
    expect(total(found, 'ledger_job_seconds_total', { task: 'build' })).toBe(2)
    const poll = 'ledger_rail_last_good_poll_timestamp_seconds'
    expect(total(found, poll, { rail: 'x402' })).toBe(Date.UTC(2026, 10, 21, 5) / 1000)
    expect(total(found, 'ledger_rail_failures', { rail: 'x402' })).toBe(3)
    expect(total(found, 'ledger_database_bytes', { file: 'database' })).toBeGreaterThanOrEqual(4096)
    expect(total(found, 'ledger_disk_free_bytes', { place: 'data' })).toBeGreaterThan(0)
    expect(total(found, 'ledger_settlement_problems')).toBe(1)
    expect(total(found, 'ledger_limiter_refusals_total', { policy: 'ip' })).toBe(6)
    expect(total(found, 'ledger_published_documents')).toBeGreaterThanOrEqual(
      sampleDocuments.length,
    )
    expect(total(found, 'ledger_metrics_source_up')).toBe(4)
  })

  test('the metrics server renders the other sources when one cannot be read', async () => {
    await writeFile(join(folder, 'builder-report.json'), '{"at":"yesterday"}')
    const found = await scrape()
    expect(total(found, 'ledger_metrics_source_up', { source: 'builder' })).toBe(0)
    expect(total(found, 'ledger_metrics_source_up', { source: 'rows' })).toBe(1)
    expect(total(found, 'process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  test('the metrics server serves one path and one method, and the public port serves no metrics', async () => {
    const place = `http://127.0.0.1:${metrics.address.port}`
    expect((await fetch(`${place}/api/v1/rails`)).status).toBe(404)
    expect((await fetch(`${place}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405)
    expect((await fetch(`${place}/metrics`, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404)
  })
})

describe('counters', () => {
  test('counters count requests at the front door', async () => {
    const before = await scrape()
    await get('/api/v1/rails', 3)
    await get('/api/v1/rails/x402?', 2)
    await get('/api/v1/rails/nothing-here')
    await get('/desk/SKILL.md')
    await get('/no/such/place', 2)
    await exchange(service.address, 'this is no request\r\n\r\n')
    const body = JSON.stringify({ message: 'a word', rating: 4 })
    const headers = { 'Content-Type': 'application/json' }
    const written = await fetch(`${service.url}/api/v1/feedback`, { method: 'POST', body, headers })
    expect(written.status).toBe(201)
    await written.arrayBuffer()
    const after = await scrape()
    const grown = (name: string, labels: Readonly<Record<string, string>> = {}) =>
      total(after, name, labels) - total(before, name, labels)
    const requests = (route: string, status: string, method = 'GET') =>
      grown('ledger_http_requests_total', { route, status, method })
    expect(requests('/api/v1/rails', '2xx')).toBe(3)
    expect(requests('/api/v1/rails/{name}', '2xx')).toBe(2)
    expect(requests('/api/v1/rails/{name}', '4xx')).toBe(1)
    expect(requests('unknown', '4xx')).toBe(2)
    expect(requests('/api/v1/feedback', '2xx', 'POST')).toBe(1)
    expect(grown('ledger_http_requests_total')).toBe(10)
    expect(grown('ledger_http_request_seconds_count')).toBe(10)
    expect(grown('ledger_http_malformed_total')).toBe(1)
    expect(grown('ledger_write_group_size_sum')).toBe(grown('ledger_write_group_size_count'))
    expect(grown('ledger_write_commit_seconds_count')).toBeGreaterThan(0)
    expect(total(after, 'ledger_http_in_flight')).toBe(0)
    expect(total(after, 'ledger_write_queue')).toBe(0)
  })

  test('write metrics count failed transactions by cause and show the queue', async () => {
    const observer = createWriteObserver(meter)
    observer.waiting(7)
    observer.failed(new BusyError('held'))
    observer.failed(new Error('no more'))
    const found = await scrape()
    expect(total(found, 'ledger_write_queue')).toBe(7)
    expect(total(found, 'ledger_write_failures_total', { cause: 'busy' })).toBe(1)
    expect(total(found, 'ledger_write_failures_total', { cause: 'unavailable' })).toBe(1)
    expect(total(found, 'ledger_write_failures_total', { cause: 'broken' })).toBe(0)
  })

  test('outbound metrics have kind and outcome as labels and never the remote host', async () => {
    const answers = [
      () => Promise.resolve({ status: 204, contentType: null, body: null }),
      () => Promise.reject(new OutboundError('timeout', 'https://secret.example did not answer')),
    ]
    const outside = instrumentOutbound(meter, {
      fetch: () => Promise.reject(new Error('https://key@node.example')),
      mail: () => Promise.resolve(),
      send: () => (answers.shift() ?? answers[0] ?? (() => Promise.reject(new Error())))(),
    })
    const limits = { timeoutMs: 1, maxAnswerBytes: 1 }
    const request = { url: 'https://a.example', method: 'POST', headers: {}, body: '' } as const
    await outside.send(request, limits)
    await expect(outside.send(request, limits)).rejects.toThrow(OutboundError)
    await expect(outside.fetch('https://a.example')).rejects.toThrow('node')
    await outside.mail({ to: 'a@b.example', subject: '', text: '' })
    const found = await scrape()
    const outcomes = found.samples
      .filter(({ name, value }) => name === 'ledger_outbound_total' && value > 0)
      .map(({ labels }) => `${labels['kind']} ${labels['outcome']}`)
    expect(outcomes.toSorted()).toEqual([
      'callback 2xx',
      'callback timeout',
      'chain failed',
      'mail sent',
    ])
  })
})

test('route labels come from the registry, whatever is requested', async () => {
  const targets = [
    '/api/v1/rails/0x52908400098527886e0f7030069857d2e4169ee7',
    '/api/v1/workers/0x52908400098527886e0f7030069857d2e4169ee7',
    '/api/v1/receipts/rcp_abc"} 1',
    '/api/v1/jobs/job_1',
    '/%0a%22evil',
    '/a"b{c="d"}',
    '/api/v1/rails/../../etc/passwd',
    '//double',
    '/x'.repeat(400),
    '/desk/SKILL.md',
    '/healthz',
    '*',
    'http://other.example/',
  ]
  for (const target of targets) await send(service.address, `GET ${target.replaceAll(' ', '')}`)
  await send(service.address, 'BREW /coffee')
  const { samples } = await scrape()
  const known = new Set<string>(routes.map(({ path }) => path))
  const other = new Set(['/healthz', '/readyz', '/mcp', 'page', 'unknown'])
  const labelled = samples.flatMap(({ labels }) => labels['route'] ?? [])
  expect(labelled.filter((route) => !known.has(route) && !other.has(route))).toEqual([])
  const methods = new Set(samples.flatMap(({ labels }) => labels['method'] ?? []))
  expect(methods).toEqual(new Set(['GET']))
  expect(new Set(labelled)).toContain('/api/v1/workers/{wallet}')
})

test('the exposition format escapes labels and accumulates buckets', () => {
  const rail = '"quoted" \\ \n'
  meter.gauge('ledger_rail_failures', { rail }).value = 1e21
  const text = meter.render()
  expect(text).toContain('\nledger_rail_failures{rail="\\"quoted\\" \\\\ \\n"} 1e+21\n')
  expect(readExposition(text).samples).toContainEqual(
    expect.objectContaining({ labels: { rail }, value: 1e21 }),
  )
  const cell = meter.histogram('ledger_write_group_size', {})
  for (const size of [1, 1, 3, 256, 300]) observe(cell, size)
  const read = readExposition(meter.render())
  const bucket = (le: string) => total(read, 'ledger_write_group_size_bucket', { le })
  expect([bucket('1'), bucket('2'), bucket('4'), bucket('256'), bucket('+Inf')]).toEqual([
    2, 2, 3, 4, 5,
  ])
})

test('the deployment notes list every metric', async () => {
  const rows = Object.entries(metricSpecs).map(([name, { kind, labels, help }]) => {
    const shown = labels.length === 0 ? '' : `{${labels.join(', ')}}`
    return `| \`${name}${shown}\` | ${kind} | ${help} |`
  })
  const table = ['| metric | kind | meaning |', '| --- | --- | --- |', ...rows].join('\n')
  expect(await readFile('scripts/deploy/operating.md', 'utf8')).toContain(table)
})
