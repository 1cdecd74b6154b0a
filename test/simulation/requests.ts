/** Requests that clients of the ledger make: most of them good, some not, some the same as before. */
import { bodySha256, fillOath, messages, receiptId, sha256Hex } from '../../src/auth/messages.ts'
import type { Reference } from '../../src/reference.ts'
import { issued, receiptFacts, workerSigned } from '../support/receipts.ts'
import {
  ed25519Key,
  evmWallet,
  nearWallet,
  partnerHeaders,
  signedBody,
  solanaWallet,
  testService,
} from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import type { Call } from './call.ts'
import type { Asked, Intent, Proof } from './model.ts'
import type { Chance } from './random.ts'
import { iso } from './state.ts'
import type { State } from './state.ts'

export const platformKey = ed25519Key('platform')
const ownKey = ed25519Key('own')
const otherKey = ed25519Key('other')

/** Signatures of the last kind cost most of all that a run does, so there is one such wallet, and it is seldom drawn. */
const wallets = [
  nearWallet('ada'),
  nearWallet('bob'),
  solanaWallet('cyd'),
  evmWallet('dan'),
] as const
const addresses = ['192.0.2.7', '192.0.2.8', '2001:db8::9'] as const
const agents = ['curl/8', 'agent/1'] as const
const handles = ['first', 'second', 'third', 'fourth'] as const
/** Each with what it looks like. */
const names = [
  ['Orion', 'orion'],
  ['0rion', 'orion'],
  ['Barn', 'bam'],
  ['Bam', 'bam'],
  ['Vivid Vole', 'vivid'],
] as const

export const kinds = [
  'register',
  'receipt',
  'claim',
  'signup',
  'attest',
  'post',
  'bid',
  'award',
  'deliver',
  'accept',
  'dispute',
  'cancel',
  'feedback',
  'propose',
] as const satisfies readonly Intent['kind'][]

export interface Sent extends Call, Asked {
  /** The operation that it came of. */
  readonly number: number
  /** The signature covers the very bytes of the body. */
  readonly isBound: boolean
}

export interface Circumstances {
  readonly number: number
  readonly state: State
  readonly nowMs: number
  readonly reference: Reference
  readonly chance: Chance
  /** The hash by which callers without a wallet are told apart. */
  readonly remoteKey: (address: string) => string
}

/** A request of the kind, or null where there is nothing that it could be about. */
export async function request(kind: Intent['kind'], at: Circumstances): Promise<Sent | null> {
  switch (kind) {
    case 'register':
    case 'receipt':
    case 'claim':
      return await statement(kind, at)
    case 'signup':
      return await signup(at)
    case 'attest':
      return await attest(at)
    case 'feedback':
    case 'propose':
      return unsigned(kind, at)
    case 'post':
    case 'bid':
    case 'award':
    case 'deliver':
    case 'accept':
    case 'dispute':
    case 'cancel':
      break
  }
  return await exchange(kind, at)
}

/** The same again; with `respelled` in other bytes that mean the same. */
export function again(sent: Sent, number: number, respelled: boolean): Sent {
  if (!respelled || sent.raw === '') return { ...sent, number }
  const raw = `${sent.raw} `
  const flaws = sent.isBound ? [...sent.flaws, 'signature_invalid'] : sent.flaws
  return { ...sent, number, raw, flaws, requestSha: requestSha(sent, raw) }
}

function requestSha({ method, path }: Pick<Call, 'method' | 'path'>, raw: string): string {
  return sha256Hex(`${method} ${path}\n${sha256Hex(raw)}`)
}

interface Parts {
  readonly method?: string
  readonly path: string
  readonly body: object
  readonly intent: Intent
  readonly wallet: TestWallet | null
  readonly proofs: readonly Proof[]
  readonly headers?: Readonly<Record<string, string>>
  readonly flaws?: readonly string[]
  readonly isBound?: boolean
}

function sentOf(at: Circumstances, parts: Parts, from = senderOf(at)): Sent {
  const { chance, number } = at
  const { method = 'POST', wallet, flaws = [], isBound = false } = parts
  const { address, agent } = from
  const path = `/api/v1${parts.path}`
  const raw = JSON.stringify(parts.body)
  const key = method === 'POST' && chance.happens(0.3) ? `key-${chance.below(12)}` : null
  return {
    number,
    method,
    path,
    raw,
    address,
    agent,
    key,
    flaws,
    isBound,
    headers: {
      ...parts.headers,
      'User-Agent': agent,
      ...(key === null ? {} : { 'Idempotency-Key': key }),
    },
    intent: parts.intent,
    wallet: wallet?.id ?? '',
    display: wallet?.address ?? '',
    proofs: parts.proofs,
    caller: parts.proofs[0]?.wallet ?? at.remoteKey(address),
    requestSha: requestSha({ method, path }, raw),
  }
}

function senderOf({ chance }: Circumstances) {
  return { address: chance.pick(addresses), agent: chance.pick(agents) }
}

function someone(chance: Chance): TestWallet {
  return wallets[chance.happens(0.03) ? 3 : chance.below(3)] ?? wallets[0]
}

/** When a client says that it signs: mostly now, at times by a clock that is wrong. */
function signingTime({ chance, nowMs }: Circumstances): number {
  if (chance.happens(0.9)) return nowMs + chance.below(50)
  return nowMs + chance.pick([-6, -4, 4, 6] as const) * 60_000 + chance.below(1000)
}

async function statement(kind: 'register' | 'receipt' | 'claim', at: Circumstances): Promise<Sent> {
  const { chance, reference } = at
  const wallet = someone(chance)
  const nowMs = signingTime(at)
  const { body, intent } = {
    register: () => registration(at),
    receipt: () => receipt(at, wallet),
    claim: () => claim(at),
  }[kind]()
  const oath =
    kind === 'claim' ? { oath_signature: await swear(reference, 'claim', { wallet, nowMs }) } : {}
  const signed = await signedBody(wallet, kind, { ...body, ...oath }, { nowMs })
  const from = {
    wallet: signed.wallet,
    timestamp: signed.timestamp,
    bodySha256: bodySha256(signed),
  }
  const proof = {
    wallet: wallet.id,
    sha: sha256Hex(messages[kind](testService, from)),
    timestampMs: nowMs,
  }
  const isForged = chance.happens(0.06)
  const forger = isForged ? wallets.find(({ id }) => id !== wallet.id) : undefined
  const sealed =
    forger === undefined
      ? signed
      : { ...signed, signature: await forger.sign(messages[kind](testService, from)) }
  return sentOf(at, {
    path: { register: '/workers/register', receipt: '/receipts', claim: '/claim' }[kind],
    body: sealed,
    intent,
    wallet,
    proofs: [proof],
    flaws: [...refusalsOf(intent, wallet), ...(isForged ? ['signature_invalid'] : [])],
  })
}

function refusalsOf(intent: Intent, wallet: TestWallet): string[] {
  if (intent.kind !== 'receipt') return []
  return [
    ...(intent.id === 'tampered' ? ['signature_invalid'] : []),
    ...(intent.platform === null && intent.to !== wallet.id ? ['forbidden'] : []),
  ]
}

function registration({ chance, reference }: Circumstances): { body: object; intent: Intent } {
  const name = chance.happens(0.8) ? chance.pick(names) : null
  const isOutside = chance.happens(0.15)
  const [known = ''] = reference.skills.keys()
  const skills = isOutside ? [known, 'my-own-skill'] : [known]
  const key = chance.weighted({ none: 6, own: 2, other: 1 })
  const receiptKey =
    key === 'none' ? null : (key === 'own' ? ownKey : otherKey).publicKey.toString('base64')
  return {
    body: {
      skills,
      ...(name === null ? {} : { display_name: name[0] }),
      ...(receiptKey === null ? {} : { receipt_key: receiptKey }),
    },
    intent: {
      kind: 'register',
      name: name?.[0] ?? null,
      looks: name?.[1] ?? null,
      skills,
      isOutside,
      receiptKey,
    },
  }
}

/** From a small pool, so that the same content comes again under another signature. */
function receipt({ chance }: Circumstances, sender: TestWallet): { body: object; intent: Intent } {
  const isIssued = chance.happens(0.75)
  // Half of them are of one pair: the order among the receipts of a pair is what their weight depends on.
  const isOfPair = isIssued && chance.happens(0.5)
  const worker = isOfPair ? wallets[0] : isIssued || chance.happens(0.1) ? someone(chance) : sender
  const payer = isOfPair ? wallets[1] : chance.happens(0.85) ? someone(chance) : null
  const amount = chance.pick(['0.000001', '1', '2.5', '33.333333'] as const)
  const facts = receiptFacts(worker, {
    amount_usdc: amount,
    occurred_at: `2026-11-0${1 + chance.below(9)}T12:00:00.000Z`,
    ...(payer === null ? {} : { from_wallet: payer.address }),
  })
  const made = isIssued ? issued(facts, platformKey) : workerSigned(facts, ownKey)
  const isTampered = chance.happens(0.06)
  const body = isTampered ? { ...made, summary: 'Added afterwards.' } : made
  return {
    body,
    intent: {
      kind: 'receipt',
      id: isTampered ? 'tampered' : receiptId(body),
      to: worker.id,
      payer: payer?.id ?? null,
      platform: isIssued ? 'example_board' : null,
      publicKey: isIssued ? null : ownKey.base64,
      amountMicro: Math.round(Number(amount) * 1e6),
    },
  }
}

function claim({ chance }: Circumstances): { body: object; intent: Intent } {
  const [name, looks] = chance.pick(names)
  return { body: { display_name: name }, intent: { kind: 'claim', name, looks } }
}

async function swear(
  reference: Reference,
  kind: 'claim' | 'partner',
  by: { readonly wallet: TestWallet; readonly nowMs: number },
): Promise<string> {
  return await by.wallet.sign(oathText(reference, kind, by))
}

function oathText(
  reference: Reference,
  kind: 'claim' | 'partner',
  { wallet, nowMs }: { readonly wallet: TestWallet; readonly nowMs: number },
): string {
  const text = reference.oaths.get(kind)?.text ?? ''
  return fillOath(text, { wallet: wallet.address, timestamp: iso(nowMs) })
}

/** The headers of the partner bearer, and what the ledger will know the request by. */
async function bearer(
  at: Circumstances,
  wallet: TestWallet,
  target: { readonly path: string; readonly raw: string; readonly timestampMs: number },
): Promise<{ headers: Record<string, string>; proof: Proof; flaws: string[]; isBound: boolean }> {
  const { raw, timestampMs } = target
  const path = `/api/v1${target.path}`
  const timestamp = String(timestampMs)
  const binding = at.chance.happens(0.8) ? 'body' : 'path'
  const signed = { method: 'POST', path, raw }
  const headers = await partnerHeaders(wallet, signed, { nowMs: timestampMs, binding })
  const message =
    binding === 'path'
      ? messages.partnerAuthV1(testService, { timestamp, method: 'POST', path })
      : messages.partnerAuthV2(testService, {
          timestamp,
          method: 'POST',
          path,
          rawSha256: sha256Hex(raw),
        })
  const proof = { wallet: wallet.id, sha: sha256Hex(message), timestampMs }
  const isBound = binding === 'body'
  if (!at.chance.happens(0.04)) return { headers, proof, flaws: [], isBound }
  const forger = wallets.find(({ id }) => id !== wallet.id) ?? wallet
  const forged = { Authorization: `Bearer ${wallet.address}:${await forger.sign(message)}` }
  return { headers: { ...headers, ...forged }, proof, flaws: ['signature_invalid'], isBound }
}

async function signup(at: Circumstances): Promise<Sent> {
  const { chance, reference } = at
  const index = chance.happens(0.05) ? 3 : chance.below(3)
  const wallet = wallets[index] ?? wallets[0]
  const handle = chance.happens(0.85) ? (handles[index] ?? handles[0]) : chance.pick(handles)
  const [name, looks] = chance.pick(names)
  const nowMs = signingTime(at)
  const oath_signature = await swear(reference, 'partner', { wallet, nowMs })
  const stated = { handle, display_name: name, tier: 'free', timestamp: iso(nowMs) }
  const body = { ...stated, oath_signature }
  const path = '/partners/signup'
  const raw = JSON.stringify(body)
  const by = await bearer(at, wallet, { path, raw, timestampMs: nowMs })
  const sworn = sha256Hex(oathText(reference, 'partner', { wallet, nowMs }))
  return sentOf(at, {
    path,
    body,
    intent: { kind: 'signup', handle, name, looks },
    wallet,
    proofs: [by.proof, { wallet: wallet.id, sha: sworn, timestampMs: nowMs }],
    headers: by.headers,
    flaws: by.flaws,
    isBound: by.isBound,
  })
}

async function attest(at: Circumstances): Promise<Sent> {
  const { chance, state } = at
  const handle = chance.pick(handles)
  const owner = wallets.find(({ id }) => id === state.partners.get(handle)?.wallet)
  const wallet = chance.happens(0.8) && owner !== undefined ? owner : someone(chance)
  const nowMs = signingTime(at)
  const timestamp = iso(nowMs)
  const url = `https://partner.example/attest/${chance.below(4)}`
  const text = messages.attestationEndpoint(testService, { timestamp, handle, url })
  const signature = await wallet.sign(text)
  return sentOf(at, {
    method: 'PATCH',
    path: `/partners/${handle}/attestation-endpoint`,
    body: { url, wallet: wallet.address, timestamp, signature },
    intent: { kind: 'attest', handle, url },
    wallet,
    proofs: [{ wallet: wallet.id, sha: sha256Hex(text), timestampMs: nowMs }],
  })
}

function unsigned(kind: 'feedback' | 'propose', at: Circumstances): Sent {
  const { chance, number } = at
  if (kind === 'feedback') {
    const from = senderOf(at)
    const words = chance.happens(0.6) ? `words ${number}` : `the same words ${chance.below(2)}`
    const text = `${words} from ${from.address} by ${from.agent}`
    const intent = { kind, text } as const
    const parts = { path: '/feedback', body: { message: text }, intent, wallet: null, proofs: [] }
    return sentOf(at, parts, from)
  }
  const text = `Something new, ${number}.`
  return sentOf(at, {
    path: '/skills',
    body: {
      name: `Unheard of ${number}`,
      category: 'research-analysis',
      surface: ['x402'],
      description: text,
    },
    intent: { kind, text, slug: `unheard-of-${number}` },
    wallet: null,
    proofs: [],
  })
}

type ExchangeKind = 'post' | 'bid' | 'award' | 'deliver' | 'accept' | 'dispute' | 'cancel'

/** The state of a job from which a move leads on. */
const leadsOn: Readonly<Partial<Record<ExchangeKind, string>>> = {
  bid: 'open',
  award: 'open',
  deliver: 'awarded',
  accept: 'delivered',
}

/** Mostly what leads a job on, by who may; at times anything by anyone. */
async function exchange(kind: ExchangeKind, at: Circumstances): Promise<Sent | null> {
  const { chance, state, number, nowMs: now } = at
  const jobs = [...state.jobs]
  const fitting = jobs.filter(([, { status }]) => status === leadsOn[kind])
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : jobs
  const [id, job] = from[chance.below(from.length)] ?? []
  if (kind !== 'post' && (id === undefined || job === undefined)) return null
  const fit = kind === 'deliver' ? job?.awardee : kind === 'bid' ? undefined : job?.poster
  const named = wallets.find((one) => one.id === fit)
  const wallet = named !== undefined && chance.happens(0.85) ? named : someone(chance)
  const timestampMs = signingTime(at)
  const jobId = id ?? ''
  const path = kind === 'post' ? '/jobs' : `/jobs/${jobId}/${kind}`
  const proofs: Proof[] = []
  let body: object = {}
  let intent: Intent
  switch (kind) {
    case 'post': {
      const deadlineMs = now + chance.pick([2, 30, 24 * 20] as const) * 3_600_000
      const title = `Job ${number}`
      const what = { title, description: 'Work.', skills: ['my-own-skill'] }
      body = { ...what, budget_usdc: '40.5', deadline: iso(deadlineMs) }
      intent = { kind, title, deadlineMs }
      break
    }
    case 'bid': {
      const priceMicro = (1 + chance.below(40)) * 500_000
      body = { price_usdc: priceMicro / 1e6, eta_hours: 1, proposal: `Bid ${number}.` }
      intent = { kind, job: jobId, priceMicro }
      break
    }
    case 'award': {
      const bids = [...(job?.bids.values() ?? [])]
      const bid = bids[chance.below(bids.length)]?.id ?? `bid_${'0'.repeat(24)}`
      body = { bid_id: bid }
      intent = { kind, job: jobId, bid }
      break
    }
    case 'deliver': {
      const timestamp = iso(timestampMs)
      const said = { uri: 'https://files.example.com/a', content_sha256: 'ab'.repeat(32) }
      const unsealed = { ...said, wallet: wallet.address, timestamp, signature: '' }
      const sha = bodySha256(unsealed)
      const of = { wallet: wallet.address, timestamp, bodySha256: sha, jobId }
      const text = messages.deliver(testService, of)
      body = { ...unsealed, signature: await wallet.sign(text) }
      proofs.push({ wallet: wallet.id, sha: sha256Hex(text), timestampMs })
      intent = { kind, job: jobId }
      break
    }
    case 'dispute':
      body = { reason: `Late ${number}.` }
      intent = { kind, job: jobId }
      break
    case 'accept':
    case 'cancel':
      intent = { kind, job: jobId }
      break
  }
  const by = await bearer(at, wallet, { path, raw: JSON.stringify(body), timestampMs })
  return sentOf(at, {
    path,
    body,
    intent,
    wallet,
    proofs: [by.proof, ...proofs],
    headers: by.headers,
    flaws: by.flaws,
    isBound: by.isBound,
  })
}
