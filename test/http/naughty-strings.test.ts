/** Sends entries of the Big List of Naughty Strings as each kind of text. */
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { openApiDocument } from '../../src/contract/openapi.ts'
import { routes } from '../../src/contract/routes.ts'
import { openExchange, parties } from '../support/exchange.ts'
import type { Exchange } from '../support/exchange.ts'
import { someOf } from '../support/exhaustive.ts'
import { openApiValidator } from '../support/openapi-validator.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { partnerHeaders, signedBody } from '../support/wallets.ts'
import { readVectors } from '../vectors/read.ts'

allowSlowTests('sends thousands of requests')

const naughty = someOf(readVectors('naughty-strings/blns.json', z.array(z.string())), 60)
const site = { serviceName: 'agent-income-ledger', siteUrl: 'https://ledger.test', version: '0' }
const api = openApiValidator(JSON.parse(JSON.stringify(openApiDocument(routes, site))))
/** Shorter strings, such as `null` and `true`, occur in any answer. */
const distinctiveLength = 12

// Each address may send ten feedbacks an hour; the tests set addresses as a trusted proxy does.
const service = useService({ per: 'file', options: () => ({ trustedProxies: ['127.0.0.1'] }) })
let exchange: Exchange

beforeAll(async () => {
  exchange = await openExchange(service)
})

interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request and checks the guarantees of every answer. */
async function ask(text: string, { method, path, body, headers = {} }: Sent) {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const raw = await answer.text()
  const { status } = answer
  const type = answer.headers.get('content-type') ?? ''
  const parsed: unknown = JSON.parse(raw)
  const [bare = ''] = path.split('?')
  if (api.templateOf(bare) !== null) {
    const problems = api.problems(bare, status, type, parsed, method.toLowerCase())
    expect([text, problems]).toEqual([text, []])
  }
  expect([text, type]).toEqual([text, expect.stringMatching(/^application\/(?:problem\+)?json/)])
  expect([text, answer.headers.get('x-content-type-options')]).toEqual([text, 'nosniff'])
  expect([200, 201, 400, 404], raw).toContain(status)
  if (status >= 400 && text.length >= distinctiveLength) {
    expect(raw).not.toContain(JSON.stringify(text).slice(1, -1))
  }
  return { status, body: z.record(z.string(), z.unknown()).parse(parsed) }
}

const lanes = 5

/** Works on several strings at a time, since concurrent writes share one commit. */
async function forEach(work: (text: string, at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < naughty.length; at += lanes) {
    const some = naughty.slice(at, at + lanes)
    await Promise.all(some.map((text, next) => work(text, at + next)))
  }
}

/** Expects that some strings were accepted and some refused, as in the real list. */
function expectBoth(accepted: number): void {
  expect(accepted).toBeGreaterThan(naughty.length / 3)
  expect(naughty.length - accepted).toBeGreaterThan(naughty.length / 30)
}

test('naughty strings are stored and returned unchanged as feedback', async () => {
  const taken: string[] = []
  await forEach(async (message, at) => {
    const headers = { 'X-Forwarded-For': `198.51.100.${at % 250}` }
    const sent = { method: 'POST', path: '/api/v1/feedback', body: { message }, headers } as const
    if ((await ask(message, sent)).status === 201) taken.push(message)
  })
  const { reader } = service.actions.database
  const rows = await reader.selectFrom('feedback').select('message').orderBy('id').execute()
  expect(rows.map(({ message }) => message).toSorted()).toEqual(taken.toSorted())
  expectBoth(taken.length)
})

test('naughty strings are stored and returned unchanged as name and bio of a worker', async () => {
  const skills = [...service.actions.reference().skills].slice(0, 1)
  const shown = `/api/v1/workers/${parties.worker.address}`
  let taken = 0
  for (const text of naughty) {
    service.clock.advance(1)
    const body = await signedBody(
      parties.worker,
      'register',
      { skills, display_name: text, bio: text },
      { nowMs: service.clock.now() },
    )
    const { status } = await ask(text, { method: 'POST', path: '/api/v1/workers/register', body })
    if (status >= 300) continue
    taken += 1
    const { body: worker } = await ask(text, { method: 'GET', path: shown })
    expect(worker).toMatchObject({ display_name: text, bio: text })
  }
  expectBoth(taken)
})

test('naughty strings are stored and returned unchanged as title and description of a job', async () => {
  const path = '/api/v1/jobs'
  let taken = 0
  await forEach(async (text) => {
    service.clock.advance(1)
    const nowMs = service.clock.now()
    const body = {
      title: text,
      description: text,
      skills: ['technical-writing'],
      budget_usdc: '1',
      deadline: new Date(nowMs + 86_400_000).toISOString(),
    }
    const raw = JSON.stringify(body)
    const headers = await partnerHeaders(
      parties.poster,
      { method: 'POST', path, raw },
      { nowMs, binding: 'body' },
    )
    const { status, body: job } = await ask(text, { method: 'POST', path, body, headers })
    if (status !== 201) return
    taken += 1
    expect(job).toMatchObject({ title: text, description: text })
    // A partner may have at most 100 open jobs.
    const cancelled = await exchange.act('poster', String(job['id']), 'cancel')
    expect(cancelled).toMatchObject({ status: 200, body: { title: text, description: text } })
  })
  expectBoth(taken)
})

test('naughty strings in a query or a path return a documented answer', async () => {
  await forEach(async (text) => {
    const word = encodeURIComponent(text)
    await ask(text, { method: 'GET', path: `/api/v1/jobs?skill=${word}` })
    await ask(text, { method: 'GET', path: `/api/v1/workers?cursor=${word}` })
    if (!['', '.', '..'].includes(text))
      await ask(text, { method: 'GET', path: `/api/v1/jobs/${word}` })
  })
})

test('naughty strings cause no internal error', () => {
  expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
})
