/** Mixed requests: documents, live reads, pictures, signed writes, jobs and payments. */
import { setTimeout as sleep } from 'node:timers/promises'

import { loadReference } from '../../src/actions/reference.ts'
import { fillOath } from '../../src/auth/messages.ts'
import { hourMs, isoTime } from '../../src/core/time.ts'
import { boardReceipt } from '../e2e/board.ts'
import { evmWallet, nearWallet, partnerHeaders, signedBody } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import { chainAccount, headerOf, paymentV2, signAuthorization } from '../support/x402-payment.ts'

/** Micro-USDC for one read of the feed. */
export const feedPrice = 2000n
export const payer = chainAccount('payer')
export const receiver = chainAccount('receiver').address

export interface Acknowledged {
  readonly receipts: string[]
  readonly workers: string[]
  readonly jobs: string[]
  payments: number
}

export interface Request {
  readonly kind: string
  readonly atMs: number
  readonly tookMs: number
  readonly status: number
}

export interface Load {
  readonly acknowledged: Acknowledged
  readonly requests: readonly Request[]
  readonly next: () => Promise<void>
}

const documents = [
  '/',
  '/api/v1/rails',
  '/api/v1/leaderboard',
  '/api/v1/opportunities',
  '/api/v1/stats/live',
]
/** Enough for an hour: each partner may write 2,000 times a day, and each job is two writes. */
const partners = 60
const mixture = [
  ...Array<string>(16).fill('document'),
  ...Array<string>(2).fill('empty'),
  ...Array<string>(6).fill('live'),
  ...Array<string>(2).fill('picture'),
  ...Array<string>(10).fill('receipt'),
  ...Array<string>(2).fill('worker'),
  'job',
  'payment',
]

/** Most concurrent payments. Payments are settled one after another, and more of them would delay the other requests. */
const MOST_PAYING = 32

/** Some requests go to a server without work: their latency measures the machine. */
export async function startLoad(url: string, emptyUrl: string): Promise<Load> {
  const acknowledged: Acknowledged = { receipts: [], workers: [], jobs: [], payments: 0 }
  const requests: Request[] = []
  const members = Array.from({ length: partners }, (_, at) => evmWallet(`member ${at}`))
  for (const [at, wallet] of members.entries()) await signUp(url, wallet, `member-${at}`)
  let count = 0
  let paying = 0
  let lastSignedMs = 0

  /** A different millisecond for each signature, so that no two signatures are equal. */
  const signingMs = (): number => {
    lastSignedMs = Math.max(Date.now(), lastSignedMs + 1)
    return lastSignedMs
  }
  const call = async (kind: string, path: string, init: RequestInit = {}): Promise<string> => {
    const startMs = performance.now()
    const answer = await fetch((kind === 'empty' ? emptyUrl : url) + path, init)
    const text = await answer.text()
    const atMs = performance.now()
    requests.push({ kind, atMs, tookMs: atMs - startMs, status: answer.status })
    return answer.ok ? text : ''
  }
  const post = (kind: string, path: string, raw: string, headers: Record<string, string> = {}) =>
    call(kind, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: raw,
    })
  const idIn = (text: string, pattern: RegExp): string[] => {
    const id = pattern.exec(text)?.[1]
    return id === undefined ? [] : [id]
  }

  const memberOf = (at: number) =>
    members[Math.floor(at / mixture.length) % partners] ?? evmWallet('member 0')

  const kinds: Readonly<Record<string, (at: number) => Promise<void>>> = {
    document: async (at) => {
      await call('document', documents[at % documents.length] ?? '/')
    },
    empty: async () => void (await call('empty', '/')),
    live: async (at) => {
      const since = isoTime(Date.now() - 10_000)
      const paths = [
        `/api/v1/stats/live?since=${since}`,
        '/api/v1/receipts?limit=20&rail=x402',
        '/api/v1/workers?limit=10',
        '/api/v1/jobs?skill=technical-writing&limit=10',
      ]
      await call('live', paths[at % paths.length] ?? '/')
    },
    picture: async (at) => {
      const path = '/api/v1/og'
      const member = memberOf(at)
      const headers = await partnerHeaders(member, { method: 'GET', path }, { nowMs: signingMs() })
      await call('picture', `${path}?page=/`, { headers })
    },
    receipt: async (at) => {
      const text = await post('receipt', '/api/v1/receipts', await boardReceipt(at))
      acknowledged.receipts.push(...idIn(text, /"receipt_id":"(rcp_[0-9a-f]{64})"/))
    },
    worker: async (at) => {
      const wallet = nearWallet(`soak worker ${at}`)
      const body = await signedBody(
        wallet,
        'register',
        { skills: ['agent-news-reporting'] },
        { nowMs: Date.now() },
      )
      const from = { 'X-Forwarded-For': `100.64.${(at >> 8) & 255}.${at & 255}` }
      const text = await post('worker', '/api/v1/workers/register', JSON.stringify(body), from)
      if (text !== '') acknowledged.workers.push(wallet.id)
    },
    job: async (at) => {
      const member = memberOf(at)
      const signed = async (path: string, raw: string) =>
        await partnerHeaders(
          member,
          { method: 'POST', path, raw },
          { nowMs: signingMs(), binding: 'body' },
        )
      const path = '/api/v1/jobs'
      const raw = JSON.stringify({
        title: `Job ${at}`,
        description: 'Twenty pages.',
        skills: ['technical-writing'],
        budget_usdc: '40.5',
        deadline: isoTime(Date.now() + 24 * hourMs),
      })
      const [id] = idIn(
        await post('job', path, raw, await signed(path, raw)),
        /"id":"(job_[0-9a-z]+)"/i,
      )
      if (id === undefined) return
      acknowledged.jobs.push(id)
      const cancel = `${path}/${id}/cancel`
      await post('job', cancel, '{}', await signed(cancel, '{}'))
    },
    payment: async () => {
      paying += 1
      const signed = await signAuthorization(payer, { to: receiver, value: feedPrice })
      const headers = { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) }
      if ((await call('payment', '/api/v1/alerts/feed', { headers })) !== '')
        acknowledged.payments += 1
      paying -= 1
    },
  }

  return {
    acknowledged,
    requests,
    next: async () => {
      count += 1
      // Seven and forty have no common divisor, so kinds alternate and keep their shares.
      const kind = mixture[(count * 7) % mixture.length] ?? 'document'
      const isFull = kind === 'payment' && paying >= MOST_PAYING
      await kinds[isFull ? 'document' : kind]?.(count)
    },
  }
}

async function signUp(url: string, wallet: TestWallet, handle: string): Promise<void> {
  const reference = await loadReference('data')
  const nowMs = Date.now()
  const timestamp = isoTime(nowMs)
  const text = reference.oaths.get('partner')?.text ?? ''
  const oath_signature = await wallet.sign(fillOath(text, { wallet: wallet.address, timestamp }))
  const path = '/api/v1/partners/signup'
  const raw = JSON.stringify({
    handle,
    display_name: handle,
    tier: 'free',
    timestamp,
    oath_signature,
  })
  const headers = await partnerHeaders(wallet, { method: 'POST', path, raw }, { nowMs })
  const sent = { ...headers, 'Content-Type': 'application/json' }
  const answer = await fetch(url + path, { method: 'POST', headers: sent, body: raw })
  if (answer.status !== 201) {
    throw new Error(`a signup was answered ${answer.status}: ${await answer.text()}`)
  }
}

export interface Pace {
  readonly fromMs: number
  readonly toMs: number
  readonly doneMs: readonly number[]
}

/** Enough clients to keep two cores busy and write groups full. */
const CLIENTS = 16
/** Half of the service's concurrency limit of 256, so that a stall causes no 503. */
export const MAX_UNDER_WAY = 128
const TICK_MS = 5

export async function asFastAsTheyGo(load: Load, durationMs: number): Promise<Pace> {
  const fromMs = performance.now()
  const doneMs: number[] = []
  const client = async (): Promise<void> => {
    while (performance.now() - fromMs < durationMs) {
      await load.next()
      doneMs.push(performance.now())
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return { fromMs, toMs: performance.now(), doneMs }
}

/** Sends requests at the rate, even if answers are slow. */
export async function atRate(load: Load, durationMs: number, perSecond: number): Promise<Pace> {
  const fromMs = performance.now()
  const doneMs: number[] = []
  const underWay = new Set<Promise<unknown>>()
  const failures: unknown[] = []
  const one = () =>
    load.next().then(
      () => doneMs.push(performance.now()),
      (error: unknown) => failures.push(error),
    )
  let begun = 0
  for (;;) {
    const passedMs = performance.now() - fromMs
    if (passedMs >= durationMs || failures.length > 0) break
    const due = Math.floor((passedMs / 1000) * perSecond)
    for (; begun < due && underWay.size < MAX_UNDER_WAY; begun += 1) {
      const sent = one().finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
    await sleep(TICK_MS)
  }
  const toMs = performance.now()
  await Promise.all(underWay)
  if (failures.length > 0) throw failures[0]
  return { fromMs, toMs, doneMs }
}

export const within =
  (fromMs: number, toMs: number) =>
  (atMs: number): boolean =>
    atMs >= fromMs && atMs < toMs

export function paceOf({ doneMs, fromMs, toMs }: Pace): number {
  return (doneMs.filter(within(fromMs, toMs)).length / (toMs - fromMs)) * 1000
}
