import { expect } from 'vitest'
import { z } from 'zod'

import { fillOath } from '../../src/auth/messages.ts'
import type { Service } from './http-service.ts'
import { partnerHeaders, signedBody } from './wallets.ts'
import type { TestWallet } from './wallets.ts'

export interface JsonAnswer {
  readonly status: number
  readonly body: Record<string, unknown>
  readonly headers: Headers
}

export interface JsonRequest {
  /** Default: POST with a body, else GET. */
  readonly method?: string
  readonly body?: object | string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

const anyObject = z.record(z.string(), z.unknown())

/** Sends a request whose answer is a JSON object. */
export async function requestJson(
  { url }: Pick<Service, 'url'>,
  path: string,
  { body, method = body === undefined ? 'GET' : 'POST', headers = {} }: JsonRequest = {},
): Promise<JsonAnswer> {
  const type = { 'Content-Type': 'application/json' }
  const raw = typeof body === 'object' ? JSON.stringify(body) : body
  const content = raw === undefined ? { headers } : { headers: { ...type, ...headers }, body: raw }
  const answer = await fetch(`${url}${path}`, { method, ...content })
  const parsed = anyObject.parse(await answer.json())
  return { status: answer.status, body: parsed, headers: answer.headers }
}

/** Signs a request once; each call of the result sends the same bytes. */
export async function signedRequest(
  service: Pick<Service, 'url' | 'clock'>,
  wallet: TestWallet,
  request: JsonRequest & { readonly path: string },
  options: Partial<Parameters<typeof partnerHeaders>[2]> = {},
): Promise<(changes?: JsonRequest) => Promise<JsonAnswer>> {
  const { path, body, method = 'POST', headers = {} } = request
  const raw = typeof body === 'object' ? JSON.stringify(body) : body
  const nowMs = service.clock.now()
  const line = { method, path, ...(raw === undefined ? {} : { raw }) }
  const signed = await partnerHeaders(wallet, line, { nowMs, ...options })
  return (changes = {}) =>
    requestJson(service, path, {
      method,
      body: raw,
      ...changes,
      headers: { ...signed, ...headers, ...changes.headers },
    })
}

/** The signed body of a registration with one skill. */
export function registrationBody(
  service: Pick<Service, 'actions' | 'clock'>,
  wallet: TestWallet,
  fields: object = {},
  options: Partial<Parameters<typeof signedBody>[3]> = {},
) {
  const skills = [...service.actions.reference().skills].slice(0, 1)
  const nowMs = service.clock.now()
  return signedBody(wallet, 'register', { skills, ...fields }, { nowMs, ...options })
}

/** Expects an error answer with a status and a code. */
export function expectRefusal(
  { status, body }: Pick<JsonAnswer, 'status' | 'body'>,
  expectedStatus: number,
  code: string,
): void {
  expect([status, body['code']]).toEqual([expectedStatus, code])
}

/** Reads a list page by page; `query` starts with `?`. Returns the pages as bodies. */
export async function readPages(
  service: Pick<Service, 'url'>,
  path: string,
  query: string,
): Promise<readonly Record<string, unknown>[]> {
  const pages: Record<string, unknown>[] = []
  for (let cursor = ''; ;) {
    const { status, body } = await requestJson(service, `${path}${query}${cursor}`)
    expect(status).toBe(200)
    pages.push(body)
    if (body['next_cursor'] === undefined) return pages
    cursor = `&cursor=${z.string().parse(body['next_cursor'])}`
  }
}

/** The signature of a wallet over the current oath of a kind. */
export function signOath(
  { actions }: Pick<Service, 'actions'>,
  kind: 'worker' | 'claim' | 'partner',
  wallet: TestWallet,
  timestamp: string,
): Promise<string> {
  const text = actions.reference().oaths.get(kind)?.text ?? ''
  return wallet.sign(fillOath(text, { wallet: wallet.address, timestamp }))
}

export function atOnce<Result>(count: number, work: (at: number) => Promise<Result>) {
  return Promise.all(Array.from({ length: count }, (_, at) => work(at)))
}

/** Sends requests without waiting and collects the answers in order of arrival. */
export function collect<Answer>(count: number, one: (at: number) => Promise<Answer>) {
  const answers: Answer[] = []
  return { answers, all: atOnce(count, async (at) => answers.push(await one(at))) }
}

export const statusCounts = (answers: readonly { readonly status: number }[]) =>
  countOf(answers.map(({ status }) => status))

/** How often each value occurs. */
export function countOf(values: readonly (number | string)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

export async function countRows(
  { actions }: Pick<Service, 'actions'>,
  table:
    | 'workers'
    | 'oath_history'
    | 'used_messages'
    | 'partners'
    | 'receipts'
    | 'reputation_ledger'
    | 'feedback',
): Promise<number> {
  const { total } = await actions.database.reader
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}
