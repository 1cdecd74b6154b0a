/** Requests against one operation of `/openapi.json`: planned from its description, then signed and encoded. */
import { brotliCompressSync, gzipSync } from 'node:zlib'

import fc from 'fast-check'

import { bodySha256, fillOath, messages } from '../../../src/auth/messages.ts'
import { routes } from '../../../src/contract/routes.ts'
import { microPerUsdc } from '../../../src/core/money.ts'
import { isoTime, minuteMs } from '../../../src/core/time.ts'
import { partnerHeaders, receiptSignature, testService } from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { paymentV1, paymentV2, signAuthorization } from '../../support/x402-payment.ts'
import { jsonText } from './json-text.ts'
import type { Json } from './json-text.ts'
import { payer, platformKey, workerKey } from './target.ts'
import type { Target } from './target.ts'
import { changes, hostileString, naughty, valuesOf, weighted } from './values.ts'
import type { Dictionary, ValuesOf } from './values.ts'

interface Parameter {
  readonly in: string
  readonly name: string
  readonly schema: unknown
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** The path template. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** Null where it takes no body. */
  readonly body: unknown
  readonly requiresPartner: boolean
}

type Header = readonly [name: string, value: string]

/** A request without its signatures and times, which are added when it is sent. */
export type Plan = ReturnType<typeof plansFor> extends fc.Arbitrary<infer P> ? P : never

/** Spellings of a body. */
const byteForms: readonly ((body: Buffer) => Buffer)[] = [
  (body) => body.subarray(0, -1),
  (body) => Buffer.concat([Buffer.from('\uFEFF'), body]),
  (body) => Buffer.concat([body, Buffer.from(' {}')]),
  (body) => Buffer.concat([body.subarray(0, -2), Buffer.from([0xc3, 0x28]), body.subarray(-2)]),
  (body) => Buffer.concat([body, Buffer.from([0])]),
  (body) => Buffer.from(body.toString('utf8'), 'utf16le'),
  () => Buffer.alloc(0),
  (body) => gzipSync(body),
  (body) => brotliCompressSync(body),
  (body) => Buffer.concat([body, Buffer.alloc(70_000, ' ')]),
  (body) => Buffer.concat([Buffer.from('['), body, Buffer.from(']')]),
  (body) => Buffer.concat([body, body]),
  (body) => Buffer.concat([Buffer.from('/* */'), body]),
]

/** Credentials that sign other facts, or whose headers are changed after signing. */
interface CredentialForm {
  readonly offsetMs?: number
  readonly signs?: { readonly method?: string; readonly path?: string }
  readonly service?: string
  readonly edit?: (headers: readonly Header[], signer: TestWallet) => readonly Header[]
}

const editValues = (edit: (value: string, name: string, signer: TestWallet) => string) => ({
  edit: (headers: readonly Header[], signer: TestWallet) =>
    headers.map(([name, value]): Header => [name, edit(value, name, signer)]),
})
const noCredentials: CredentialForm = { edit: () => [] }
const words: CredentialForm = { edit: () => [['Authorization', 'Bearer please']] }
const credentialForms: readonly CredentialForm[] = [
  noCredentials,
  words,
  { offsetMs: -6 * minuteMs },
  { offsetMs: 6 * minuteMs },
  { signs: { path: '/api/v1/partners/me/x' } },
  { signs: { method: 'PUT' } },
  { service: 'another-ledger' },
  { edit: () => [['Authorization', 'Basic YWRtaW46YWRtaW4=']] },
  { edit: (_, { address }) => [['Authorization', `Bearer ${address}:0x${'ab'.repeat(3500)}`]] },
  {
    edit: (headers) =>
      headers.map(([name, value]) => [name.toLowerCase(), value.replace('Bearer', 'bearer')]),
  },
  editValues((value) => value.slice(0, -1)),
  editValues((value, name) =>
    name === 'X-Partner-Timestamp'
      ? value
      : value.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  ),
  editValues((value, _name, { address }) => value.replace(address, `0x${'52'.repeat(20)}`)),
  { edit: (headers) => headers.filter(([name]) => name !== 'X-Partner-Timestamp') },
  { edit: (headers) => headers.slice(1) },
  { edit: (headers) => [...headers, ...headers] },
  {
    edit: (headers, { address }) => [
      ...headers,
      ['X-Partner-Wallet', address],
      ['Authorization', 'Bearer a:b'],
    ],
  },
]

const base64 = (text: Buffer): string => text.toString('base64').slice(0, 7000)
const oneLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, ' ')

/** Spellings of a payment header. */
const paymentForms: readonly ((text: Buffer) => readonly string[])[] = [
  (text) => [base64(text), base64(text)],
  (text) => [text.toString('base64url').slice(0, 7000)],
  (text) => [base64(text).slice(0, -3)],
  (text) => [oneLine(text.toString('utf8')).slice(0, 3000)],
  ...naughty.map((own) => () => [base64(Buffer.from(own))]),
  () => ['A'.repeat(7200)],
  () => [''],
]

const rarely = <T>(usual: T, others: readonly T[], weight = 8): fc.Arbitrary<T> =>
  weighted([weight, fc.constant(usual)], [1, fc.constantFrom(...others)])

const knownHeaders: Readonly<Record<string, readonly string[]>> = {
  Accept: ['application/json', 'text/html, */*;q=0.1'],
  'Accept-Encoding': ['br;q=0, gzip;q=0, identity;q=0', 'gzip'],
  'If-None-Match': ['*', '"x'],
  'If-Modified-Since': ['Sat, 21 Nov 2099 05:30:15 GMT'],
  Range: ['bytes=0-0,-1,5-2'],
  Origin: ['https://evil.example'],
  Cookie: ['session=1; __proto__=1'],
  'X-Forwarded-For': ['127.0.0.1, ::1, <script>'],
  'X-Forwarded-Host': ['evil.example'],
  'X-HTTP-Method-Override': ['DELETE'],
  'Content-Encoding': ['gzip'],
  'Content-Digest': ['sha-256=:AAAA:', 'md5=:AAAA:, unixsum=:AA==:', 'sha-256'],
  Date: ['Sat, 21 Nov 2026 06:00:00 GMT', 'yesterday'],
  'Idempotency-Key': ['"one key"', 'bare-key', '"open', 'k'.repeat(300)],
  Expect: ['100-continue', 'the-impossible'],
  Upgrade: ['h2c'],
  Prefer: ['respond-async'],
}
const listedHeaders = Object.entries(knownHeaders).flatMap(([name, values]) =>
  values.map((value): Header => [name, value]),
)
/** Headers that the operation ignores, and known headers in invalid spellings. */
const strayHeaders: fc.Arbitrary<readonly Header[]> = fc.array(
  weighted<Header>(
    [5, fc.constantFrom(...listedHeaders)],
    [
      3,
      fc
        .tuple(fc.constantFrom('X-Stray', 'Idempotency-Key', 'User-Agent'), hostileString)
        .map(([name, text]): Header => [name, oneLine(text).slice(0, 300)]),
    ],
  ),
  { maxLength: 2 },
)

const json = 'application/json'
const contentTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  '',
  'multipart/form-data; boundary=x',
  'APPLICATION/JSON',
  'application/problem+json',
  'application/json, text/plain',
  ...['; charset=utf-16', ';charset="utf-8"', ';a=b'].map((parameter) => json + parameter),
]

const payments = fc.record({
  make: fc.constantFrom(paymentV1, paymentV2),
  name: fc.constantFrom('X-PAYMENT', 'PAYMENT-SIGNATURE'),
  changes,
  spell: rarely((text: Buffer): readonly string[] => [base64(text)], paymentForms, 3),
  nonce: fc.uint8Array({ minLength: 32, maxLength: 32 }),
})

/** Plans for an operation. `known` contains ids and names that exist. */
export function plansFor(
  operation: Operation,
  schemas: Readonly<Record<string, unknown>>,
  known: Dictionary,
) {
  const { id, method, body, parameters, requiresPartner } = operation
  const values = valuesOf(schemas, known)
  const takesPayment = parameters.some(({ name }) => name === 'X-PAYMENT')
  const signed: CredentialForm = {}
  return fc.record({
    method: method === 'GET' ? rarely('GET', ['HEAD'], 20) : fc.constant(method),
    path: pathsFor(operation, values),
    headers: fc
      .tuple(strayHeaders, rarely(json, contentTypes, 12))
      .map(([stray, type]): readonly Header[] =>
        body === null ? stray : [...stray, ['Content-Type', type]],
      ),
    credentials: requiresPartner
      ? rarely(signed, credentialForms, 4)
      : rarely(noCredentials, [signed, words], 20),
    form: fc.constantFrom('bearer' as const, 'headers' as const),
    binding: fc.constantFrom('path' as const, 'body' as const),
    signer: rarely(rightfulSigner[id] ?? 0, [1, 2, 3, 4, 5, 6, 7], 2),
    payment: takesPayment ? fc.option(payments) : fc.constant(null),
    body:
      body === null
        ? rarely<string | null>(null, ['{}', '"x"'], 12)
        : fc.tuple(values(body), changes).map((changed) => jsonText(...changed)),
    spell: rarely((bytes: Buffer) => bytes, byteForms, 10),
    isRepeated: rarely(false, [true]),
  })
}

/** Index of the wallet that may make the request; by default the poster of the job. */
const rightfulSigner: Readonly<Record<string, number>> = {
  bidOnJob: 2,
  deliverJob: 1,
  getDelivery: 1,
  getArbitrage: 7,
  getAlertFeed: 7,
  getCard: 7,
  getReputation: 7,
  signupPartner: 4,
}

function pathsFor({ path, parameters }: Operation, values: ValuesOf): fc.Arbitrary<string> {
  const textOf = ({ name, schema }: Parameter) =>
    weighted(
      [16, values(schema, name).map((value) => encoded(wordOf(value)))],
      [1, hostileString.map(encoded)],
      [1, fc.constantFrom(...rawSegments)],
    )
  const inside = (place: string) => parameters.filter((one) => one.in === place)
  const filled = fc.tuple(...inside('path').map(textOf)).map((found) => {
    const queue = [...found]
    return path.replaceAll(/\{\w+\}/g, () => queue.shift() ?? '')
  })
  const pairs = inside('query').map((query) =>
    weighted([1, fc.constant('')], [5, textOf(query).map((text) => `${query.name}=${text}`)]),
  )
  const stray = rarely(
    '',
    ['__proto__=1', 'limit=1&limit=2', '%zz', '=&=&', 'constructor[x]=1'],
    19,
  )
  return fc.tuple(filled, ...pairs, stray).map(([own, ...queries]) => {
    const query = queries.filter((text) => text !== '').join('&')
    return query === '' ? own : `${own}?${query}`
  })
}

const wordOf = (value: Json): string => (typeof value === 'string' ? value : jsonText(value))
const encoded = (text: string): string =>
  encodeURIComponent(text.replaceAll(/[\uD800-\uDFFF]/gu, '?')).slice(0, 2000)

/** Path segments that are sent unencoded; malformed ones are refused before the route is looked up. */
const rawSegments =
  "%2e%2e .. . %00 %zz %C0%AE %FF %5C %2F..%2F %252e ~ * ;a=b 'or'1'='1 (select(1)) $where {{7*7}} ${7*7} <script> |id %0D%0AX-Injected:1".split(
    ' ',
  )

/** Signs and encodes a request. `isProven` is true if it carries credentials or a signed body. */
export async function render(target: Target, operation: Operation, plan: Plan) {
  const { service } = target
  // A new time for each request makes every message unique.
  service.clock.advance(1)
  const all = [...target.wallets.values()]
  const signer = all[plan.signer % all.length]
  if (signer === undefined) throw new Error('there is no wallet')
  const [path = ''] = plan.path.split('?')
  const nowMs = service.clock.now()
  const text = await withSignatures(
    target,
    operation,
    withTimes(plan.body ?? '', nowMs),
    signer,
    path,
  )
  const body = plan.body === null ? Buffer.alloc(0) : plan.spell(Buffer.from(text, 'utf8'))
  const { credentials: form, binding, method } = plan
  const signed = await partnerHeaders(
    signer,
    { method, path, raw: body.toString('utf8'), ...form.signs },
    {
      nowMs: nowMs + (form.offsetMs ?? 0),
      form: plan.form,
      binding,
      service: form.service ?? testService,
    },
  )
  const credentials = (form.edit ?? ((headers) => headers))(Object.entries(signed), signer)
  const paid = plan.payment === null ? [] : await paymentOf(target, operation, plan.payment)
  const headers: readonly Header[] = [
    ['Host', 'ledger.test'],
    ...plan.headers,
    ...credentials,
    ...paid,
    ...(plan.body === null ? [] : [['Content-Length', String(body.length)] as const]),
    ['Connection', 'close'],
  ]
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${plan.method} ${plan.path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'utf8')
  const isProven = credentials.length + paid.length > 0 || body.includes('"signature":')
  return { method, path, bytes: Buffer.concat([head, body]), isProven }
}

function withTimes(text: string, nowMs: number): string {
  const offsets = { '"@now"': 0, '"@old"': -6 * minuteMs, '"@ahead"': 6 * minuteMs }
  return Object.entries(offsets).reduce(
    (changed, [mark, offsetMs]) => changed.replaceAll(mark, `"${isoTime(nowMs + offsetMs)}"`),
    text,
  )
}

/** The messages that operations sign. */
const signedMessages: Readonly<
  Record<
    string,
    keyof typeof messages &
      ('register' | 'claim' | 'receipt' | 'dispute' | 'deliver' | 'attestationEndpoint')
  >
> = {
  registerWorker: 'register',
  claimSpot: 'claim',
  submitReceipt: 'receipt',
  openDispute: 'dispute',
  withdrawDispute: 'dispute',
  deliverJob: 'deliver',
  updateAttestationEndpoint: 'attestationEndpoint',
}

/** Replaces each signature mark by a signature over the text, hostile or not. */
async function withSignatures(
  target: Target,
  { id }: Operation,
  text: string,
  signer: TestWallet,
  path: string,
): Promise<string> {
  const body = text.includes('"@') ? parsed(text) : null
  if (body === null) return text
  const stringIn = (name: string) => (typeof body[name] === 'string' ? body[name] : null)
  const wallet = stringIn('wallet') ?? signer.address
  const timestamp = stringIn('timestamp') ?? ''
  const isHolder = (one: TestWallet) => one.id === wallet.toLowerCase() || one.id === wallet
  const holder = [...target.wallets.values()].find(isHolder) ?? signer
  const isSignup = id === 'signupPartner'
  const kind = isSignup ? 'partner' : id === 'claimSpot' ? 'claim' : 'worker'
  const oathText = target.service.actions.reference().oaths.get(kind)?.text ?? ''
  const oath = fillOath(oathText, { wallet: isSignup ? signer.address : wallet, timestamp })
  const { wallet: _wallet, timestamp: _timestamp, signature: _signature, ...receipt } = body
  const owner = path.split('/').at(-2) ?? ''
  const signatures: Readonly<Record<string, () => Promise<string> | string>> = {
    '@platform_signature': () => receiptSignature(platformKey, receipt),
    '@worker_signature': () => receiptSignature(workerKey, receipt),
    '@oath_signature': () => (isSignup ? signer : holder).sign(oath),
    '@signature': () => {
      const facts = { wallet, timestamp, bodySha256: bodySha256(body) }
      const of = { ...facts, jobId: owner, handle: owner, url: stringIn('url') ?? '' }
      return holder.sign(messages[signedMessages[id] ?? 'register'](testService, of))
    },
  }
  let signed = text
  for (const [mark, make] of Object.entries(signatures)) {
    if (!signed.includes(`"${mark}"`)) continue
    // A text without a canonical form cannot be signed.
    const signature = await Promise.resolve()
      .then(make)
      .catch(() => `0x${'11'.repeat(65)}`)
    signed = signed.replaceAll(`"${mark}"`, JSON.stringify(signature))
  }
  return signed
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { ...value } : null
  } catch {
    return null
  }
}

/** The price of a month of the tier `pro`. */
const proUsdc = 99

async function paymentOf(
  target: Target,
  { id }: Operation,
  { make, name, spell, nonce, ...payment }: NonNullable<Plan['payment']>,
): Promise<readonly Header[]> {
  const route = routes.find((one) => one.id === id)
  const usdc = route !== undefined && 'price' in route ? Number(route.price) : proUsdc
  const signed = await signAuthorization(payer, {
    to: target.receiver,
    value: BigInt(Math.round(usdc * microPerUsdc)),
    validBefore: BigInt(Math.floor(target.service.clock.now() / 1000)) + 120n,
    nonce: `0x${Buffer.from(nonce).toString('hex')}`,
  })
  const text = Buffer.from(jsonText(make(signed), payment.changes), 'utf8')
  return spell(text).map((value) => [name, value])
}
